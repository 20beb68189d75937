package main

import (
	"bufio"
	"strings"
	"testing"
)

func TestSummary(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		in, want string
		ok       bool
	}{
		"two runs, one of them bad": {
			in: `{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"why\n"}
{"Action":"fail","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Output":"FAIL\tp\n"}
{"Action":"fail","Package":"p"}
`,
			want: "why\nFAIL\tp\n1 passed, 1 failed\n",
		},
		"a package that does not build": {
			in: `{"Action":"build-output","ImportPath":"p [p.test]","Output":"p.go:1: no\n"}
{"Action":"fail","Package":"p","FailedBuild":"p [p.test]"}
{"Action":"pass","Package":"q","Test":"TestA"}
`,
			want: "p.go:1: no\n1 passed, 1 failed\n",
		},
		"a test that never ends": {
			in: `{"Action":"output","Package":"p","Test":"TestA","Output":"panic: late\n"}
{"Action":"fail","Package":"p"}
`,
			want: "panic: late\n0 passed, 1 failed\n",
		},
		"all well": {
			in: `{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"skip","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Output":"PASS\n"}
{"Action":"output","Package":"p","Output":"ok  \tp\t0.1s\n"}
{"Action":"pass","Package":"p"}
`,
			want: "ok  \tp\t0.1s\n1 skipped\n1 passed, 0 failed\n",
			ok:   true,
		},
		"nothing": {want: "no test ran\n0 passed, 0 failed\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			buffer := bufio.NewWriter(&out)
			s := newSummary(buffer)
			if err := s.read(strings.NewReader(test.in)); err != nil {
				t.Fatal(err)
			}
			ok := s.print()
			if err := buffer.Flush(); err != nil {
				t.Fatal(err)
			}
			if out.String() != test.want || ok != test.ok {
				t.Errorf("got %v:\n%swant %v:\n%s", ok, out.String(), test.ok, test.want)
			}
		})
	}
}
