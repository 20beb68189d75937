package sluice_test
import ("testing";"os";"bytes";"bufio";"strings";"fmt";"github.com/sluice-go/sluice/eval";"github.com/sluice-go/sluice/policy";"github.com/sluice-go/sluice/internal/oracle";"encoding/json";"time")
func TestDbg(t *testing.T){
 src,_:=os.ReadFile("/tmp/pol.yaml"); ev,_:=os.ReadFile("/tmp/ev.ndjson")
 d,err:=policy.Parse("a.yaml",src); if err!=nil {t.Fatal(err)}
 var out bytes.Buffer
 eval.Run(d.Policies[0].Policy, eval.Options{State:true}, bytes.NewReader(ev), &out)
 fmt.Println(out.String())
 var evs []oracle.Event
 last:=int64(0)
 sc:=bufio.NewScanner(bytes.NewReader(ev))
 for sc.Scan(){ 
  if strings.TrimSpace(sc.Text())=="" {continue}
  var m map[string]any; json.Unmarshal(sc.Bytes(),&m)
  at,_:=time.ParseDuration(m["at"].(string)); if int64(at)<last {at=time.Duration(last)}; last=int64(at)
  e:=oracle.Event{At:int64(at),Op:m["op"].(string),Cost:1}
  if id,ok:=m["id"].(float64);ok{e.ID=fmt.Sprint(int(id))}
  if c,ok:=m["cost"].(float64);ok{e.Cost=uint32(c)}
  if c,ok:=m["outcome"].(string);ok{e.Outcome=c}
  if c,ok:=m["deadline"].(string);ok{x,_:=time.ParseDuration(c); y:=int64(x); e.Deadline=&y}
  if c,ok:=m["retry_after"].(string);ok{x,_:=time.ParseDuration(c); y:=int64(x); e.RetryAfter=&y}
  if c,ok:=m["policy"];ok{ x,_:=json.Marshal(c); p,err:=policy.ParseOne("p.json",x); if err!=nil {t.Fatal(err)}; e.Policy=&p.Policy}
  e.Key=e.ID
  if as,ok:=m["attributes"].(map[string]any);ok{e.Attributes=map[string]string{}; for k,v:=range as{e.Attributes[k]=v.(string)}}
  evs=append(evs,e)
 }
 bubble(t,func(t *testing.T){ dbg=true; got:=performed(t,d.Policies[0].Policy,evs); dbg=false; for _,e:=range evs{ if e.Op=="call" {fmt.Println(e.ID, strings.Join(got[e.ID],"\n   "))}}})
}
var dbg bool
