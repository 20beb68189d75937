package proptest
import ("testing";"fmt")
func TestZZ(t *testing.T) {
	w := uint64(0xcbdde5ebd6e688ff)
	m := limiterOf(w)
	_, c := m.begin(history{w>>8})
	fmt.Println(m.name, c.limit)
	var o oracle = beginLimiter(w)
	s := testLimiter(limiterOf)(w)
	for _, x := range []command{{"acquire",1049442011335072377,4},{"time",9809280943472808280,44},{"time",11775163713140274848,51},{"drain",0,0},{"time",11870703936744920398,29},{"acquire",17508567189039902379,9},{"try",11701434550829069952,10}} {
		var a string
		o, a = o.do(x)
		b := s.do(x)
		l := s.(*testedLimiter)
		fmt.Println(x.verb, x.number%24, costOf(x), a, "|", b, l.now, l.subject.Text(l.now), o.(*naiveLimiter).now)
	}
}
