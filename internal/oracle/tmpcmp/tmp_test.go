package tmpcmp
import ("testing";"bytes";"fmt";"strings";"math/rand/v2";"os";"strconv";"sort"
"github.com/sluice-go/sluice/eval";"github.com/sluice-go/sluice/policy"
"github.com/sluice-go/sluice/core/pipeline"
"github.com/sluice-go/sluice/internal/oracle";"github.com/sluice-go/sluice/internal/oracle/generate")
func norm(l []string) []string {
 l=append([]string(nil),l...)
 for i:=0;i<len(l); { j:=i; at:=func(s string)string{return s[:strings.Index(s,",")]}
  for j<len(l)&&strings.Contains(l[j],`"lapse"`)&&at(l[j])==at(l[i]) {j++}
  if j>i {sort.Strings(l[i:j]); i=j} else {i++} }
 return l }
func skip(p pipeline.Policy, ev []oracle.Event) bool {
 bad:=func(p pipeline.Policy) bool { for _,s:=range p.Steps { if len(s.Per)>1 {return true}; if s.Kind==pipeline.Breaker&&s.Breaker.HalfOpenMax==0 {for _,s:=range p.Steps{if s.Kind==pipeline.Timeout{return true}}; for _,e:=range ev{if e.Deadline!=nil||e.Op=="configure"{return true}}}}; return false}
 if bad(p){return true}
 if os.Getenv("NOCONF")!="" { for _,e:=range ev{if e.Policy!=nil{return true}}}
 for _,e:=range ev { if e.Policy!=nil&&bad(*e.Policy){return true}}
 return false}
func compare(p pipeline.Policy, seed uint64, events []oracle.Event) string {
 if skip(p,events) {return ""}
 want,err:=oracle.Run(p,seed,events); if err!=nil {return "oracle "+err.Error()}
 doc,err:=policy.Parse("r.json",generate.PolicyJSON(p)); if err!=nil {return "policy "+err.Error()}
 var out bytes.Buffer
 if err:=eval.Run(doc.Policies[0].Policy,eval.Options{Seed:seed},bytes.NewReader(generate.EventsJSON(events)),&out);err!=nil{return "eval "+err.Error()}
 got:=strings.Split(out.String(),"\n"); got=norm(got[:len(got)-1]); want=norm(want)
 for i:=range max(len(got),len(want)) { if i>=len(got)||i>=len(want)||got[i]!=want[i] { lo:=max(0,i-3); return fmt.Sprintf("core:\n%s\noracle:\n%s",strings.Join(got[min(lo,len(got)):min(i+1,len(got))],"\n"),strings.Join(want[min(lo,len(want)):min(i+1,len(want))],"\n"))}}
 return ""}
func TestCmp(t *testing.T){
 n,_:=strconv.Atoi(os.Getenv("N")); s,_:=strconv.Atoi(os.Getenv("S")); seed:=uint64(s); bad,ran:=0,0
 for i:=range n { p,ev:=generate.GenerateFor(rand.New(rand.NewPCG(seed,uint64(i))),seed)
  if skip(p,ev){continue}; ran++
  if compare(p,seed,ev)=="" {continue}
  bad++
  if bad<=40 { p,ev=generate.Shrink(seed,p,ev,func(p pipeline.Policy, ev []oracle.Event)bool{return compare(p,seed,ev)!=""})
  t.Errorf("case %d:\n%s\n%s\n%s",i,generate.PolicyJSON(p),generate.EventsJSON(ev),compare(p,seed,ev)) } }
 t.Log("ran",ran,"bad",bad)
}
