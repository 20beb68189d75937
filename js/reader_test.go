package js_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/planbytes"
	"github.com/sluice-go/sluice/internal/randompolicy"
	"github.com/sluice-go/sluice/policy/document"
)

// sourceText is a document for the two readers. With a body it is one policy, else
// the policy of a name is read.
type sourceText struct {
	text string
	body bool
	name string
}

// TestReader gives documents to the reader in JavaScript and to the one in Go: the
// errors have equal texts, and what has none gives equal plan bytes. Values of a
// program are read as their JSON is.
func TestReader(t *testing.T) {
	ready(t)
	const seed = 12
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, seed))
	sources := samples(t)
	for accepted := 0; accepted < 1_500; {
		one := randomSource(random)
		if _, err := inGo(t, one); err == nil {
			accepted++
		}
		sources = append(sources, one)
	}
	whole := len(sources)
	for range 8_000 {
		one := sources[random.IntN(whole)]
		for range 1 + random.IntN(3) {
			one.text = mutated(random, one.text)
		}
		sources = append(sources, one)
	}
	answers := javaScript(t, sources)
	accepted, refused := 0, 0
	for i, one := range sources {
		want, err := inGo(t, one)
		got := answers[i]
		switch {
		case err != nil && got.Error == "" || err == nil && got.Error != "":
			t.Errorf("%+v: JavaScript %q, Go %v", one, got.Error, err)
		case err != nil && err.Error() != got.Error:
			t.Errorf("%+v: JavaScript\n%s\nGo\n%s", one, got.Error, err)
		case !bytes.Equal(want, got.Plan):
			t.Errorf("%+v: JavaScript %x, Go %x", one, got.Plan, want)
		case !got.Agree:
			t.Errorf("%+v: the value and its JSON differ", one)
		}
		if err == nil {
			accepted++
		} else {
			refused++
		}
	}
	if accepted < 1_000 || refused < 5_000 {
		t.Errorf("%d accepted, %d refused", accepted, refused)
	}
}

// inGo reads a source in Go, and returns the bytes of its plan.
func inGo(t *testing.T, one sourceText) ([]byte, error) {
	t.Helper()
	var p *document.Policy
	var err error
	if one.body {
		p, err = document.ParseOneJSON("policy", []byte(one.text))
	} else {
		p, err = document.ParsePolicyJSON("policy", []byte(one.text), one.name)
	}
	if err != nil {
		return nil, err
	}
	plan, err := pipeline.Compile(p.Policy)
	if err != nil {
		t.Fatalf("%+v: %v", one, err)
	}
	return planbytes.Append(nil, plan), nil
}

// answer is what test/reader.mjs writes for a source.
type answer struct {
	Plan  []byte
	Error string
	// Agree says that the value of the source was read as its JSON is.
	Agree bool
}

// javaScript reads sources in JavaScript.
func javaScript(t *testing.T, sources []sourceText) []answer {
	t.Helper()
	var in bytes.Buffer
	for _, one := range sources {
		line := map[string]any{"source": []byte(one.text)}
		if !one.body {
			line["name"] = one.name
		}
		text, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		in.Write(append(text, '\n'))
	}
	cmd := exec.Command("node", "test/reader.mjs")
	cmd.Stdin, cmd.Stderr = &in, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	answers := make([]answer, 0, len(sources))
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var one answer
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			t.Fatal(err)
		}
		answers = append(answers, one)
	}
	if len(answers) != len(sources) {
		t.Fatalf("%d answers to %d sources", len(answers), len(sources))
	}
	return answers
}

// samples returns the good and bad documents of package policy: as they are, which is
// no JSON where they are YAML, and in JSON.
func samples(t *testing.T) (all []sourceText) {
	t.Helper()
	for _, pattern := range []string{"good/*.[jy]*", "bad/*.[jy]*", "samples/*.[jy]*"} {
		files, err := filepath.Glob(filepath.Join("../policy/testdata", pattern))
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, sourceText{text: string(text)})
			var root yaml.Node
			if yaml.Unmarshal(text, &root) != nil || len(root.Content) == 0 {
				continue
			}
			var b strings.Builder
			writeJSON(&b, root.Content[0], "\n")
			for _, name := range []string{"", "vendor", "vendro"} {
				all = append(all, sourceText{text: b.String(), name: name})
			}
		}
	}
	for _, text := range []string{
		"", " ", "\ufeff", "\ufeff{}", "null", "5", "[]", "{}", `"x"`, "\xff", "{\"a\": \"\xe9\"}", "{\"\xe2\x82\": 1}", "\"\x85\xc2\x85\ufffd\xff", "\x00", "\u007f", "\u0080", "\ufffe",
		`{"a":[1,-2.5e3,"\u00e9\ud83d\ude00",true,null],"b":{}}`, `{"a":1,}`, `[01]`, `[1.]`, `[-]`, `[1e]`, `[truE]`,
		`{"steps":[{"limit":"5/s"},{"retry":3}]}`, `{"steps":[{"limit":"5/s","limit":"6/s"}],"steps":[]}`,
		`{"steps":[{"timeout":"\ud83d\ude00\u00e9"}]}`, `{"st\u0065ps":[{"timeout":"1\u0073"}]}`, `"\ud800"`, `"\ud800\u0041"`, `"\u0000"`, `"\u12é"`, `"\u123é"`, `"\u12"`, `"\`, `"\x"`, `"\é"`,
		"{\"steps\":\r\n[{\"retry\":\r0}\n\t]}", "\"a\nb\"", "\"a\tb\"", "\"a",
		strings.Repeat("[", 32) + strings.Repeat("]", 32), strings.Repeat("[", 33) + strings.Repeat("]", 33),
		`{"version":1,"policies":{` + numbered(`"p#":{"steps":[{"timeout":"1s"}]}`, 9) + `}}`,
		`{"version":1,"policies":{` + numbered(`"p#":{"steps":[{"timeout":"1s"}]}`, 1_001) + `}}`,
		`{"version":1,"policies":{` + numbered(`"p":{"steps":[{"retri":"1s"}]}`, 1_100) + `}}`,
		`{"version":1,"policies":{"p":{"steps":[` + numbered(`{"timeout":"#s"}`, 17) + `]}}}`,
		`{"version":1,"policies":{"p":{"steps":[` + numbered(`{"retry":0}`, 1_100) + `]}}}`,
		`{"steps":[` + numbered(`{"retri":0}`, 2_000) + `]}`,
		`"` + strings.Repeat("x", 1<<20) + `"`,
	} {
		all = append(all, sourceText{text: text}, sourceText{text: text, body: true}, sourceText{text: text, name: "p2"})
	}
	for _, text := range []string{
		"0.0.0.0/0", "10.0.0.0/8", "10.0.0.0/32", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/08", "10.0.0.0/+8", "10.0.0.0/8/8", "1.2.3.4", "01.2.3.4", "1.2.3", "1.2.3.4.5", "1.2.3.256", "1.2.3.", "",
		"::", "::/0", "::/128", "::/129", "::1", "1::", ":::", "1:::2", "::1::", ":1", "1:", "1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7::", "::1:2:3:4:5:6:7", "1::2:3:4:5:6:7:8",
		"::ffff:1.2.3.4", "::FFFF:1.2.3.4/104", "1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:7:1.2.3.4", "1.2.3.4::", "::1.2.3.4:5", "::1.2.3", "1.2.3.4:5::", "12345::", "g::", "fe80::1%eth0", "[::1]", "10.0.0.0/1000", " 10.0.0.0", "x",
	} {
		for _, list := range []string{`"#"`, `["::1","#"]`} {
			all = append(all, sourceText{text: `{"version":1,"policies":{"p":{"steps":[{"retry":3}]}},"proxy":{"trusted_proxies":` + strings.ReplaceAll(list, "#", text) + `}}`})
		}
	}
	return all
}

// numbered returns a list of so many of a text, with their numbers in place of #.
func numbered(text string, count int) string {
	all := make([]string, count)
	for i := range all {
		all[i] = strings.ReplaceAll(text, "#", strconv.Itoa(i))
	}
	return strings.Join(all, ",")
}

// writeJSON writes a node of YAML as JSON over several lines.
func writeJSON(b *strings.Builder, n *yaml.Node, line string) {
	inner := line + "  "
	switch n.Kind {
	case yaml.MappingNode:
		b.WriteString("{")
		for i := 0; i+1 < len(n.Content); i += 2 {
			if i > 0 {
				b.WriteString(",")
			}
			b.WriteString(inner + jsonText(n.Content[i].Value) + ": ")
			writeJSON(b, n.Content[i+1], inner)
		}
		b.WriteString(line + "}")
	case yaml.SequenceNode:
		b.WriteString("[")
		for i, item := range n.Content {
			if i > 0 {
				b.WriteString(", ")
			}
			writeJSON(b, item, inner)
		}
		b.WriteString("]")
	case yaml.AliasNode:
		b.WriteString("{}")
	default:
		switch tag := n.ShortTag(); {
		case tag == "!!null":
			b.WriteString("null")
		case tag == "!!bool" || (tag == "!!int" || tag == "!!float") && json.Valid([]byte(n.Value)):
			b.WriteString(n.Value)
		default:
			b.WriteString(jsonText(n.Value))
		}
	}
}

// jsonText writes a text as JSON.
func jsonText(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(quoted)
}

// randomSource returns a policy or a document in JSON.
func randomSource(random *rand.Rand) sourceText {
	if random.IntN(4) == 0 {
		return sourceText{text: spaced(random, randompolicy.Document(random)), name: pick(random, "a", "a", "b", "c", "")}
	}
	body := `{"steps":` + randompolicy.Steps(random)
	if random.IntN(8) == 0 {
		body += `,"fallback":` + pick(random, `{}`, `{"status":500,"body":"late"}`, `{"status":99}`, `{"body":5}`, `503`)
	}
	if random.IntN(8) == 0 {
		body += `,"outcomes":` + pick(random, `{}`, `{"fail":[500,"5xx"]}`, `{"ignore":["4xx",404,404]}`, `{"throttle":[429,"429"],"fail":[429]}`, `{"fail":["reset","conect"]}`, `{"fail":"5xx"}`)
	}
	body += "}"
	if random.IntN(2) == 0 {
		return sourceText{text: spaced(random, body), body: true}
	}
	text := `{"version":` + pick(random, "1", "1", "1", "1", "2", "1.0", `"1"`) + `,"policies":{"a":` + body
	if random.IntN(4) == 0 {
		text += `,` + pick(random, `"b"`, `"b-2"`, `"a"`, `"B c"`, `"-"`, `""`) + `:` + body
	}
	text += "}"
	for range random.IntN(4) {
		text += "," + randomSection(random)
	}
	return sourceText{text: spaced(random, text+"}"), name: pick(random, "", "", "a", "b", "c")}
}

// randomSection returns an entry of a document that is none of a policy.
func randomSection(random *rand.Rand) string {
	switch random.IntN(4) {
	case 0:
		return `"proxy":{` + strings.Join(some(random,
			`"state":`+pick(random, `"process"`, `"worker"`, `"workers"`, `true`),
			`"slots":`+pick(random, `1`, `4096`, `10000000`, `10000001`, `0`, `"5"`),
			`"headers":`+pick(random, `"refusals"`, `"all"`, `"none"`, `[]`)), ",") + "}"
	case 1:
		return `"http":{` + strings.Join(append(some(random,
			`"default":`+pick(random, `"pass"`, `"deny"`, `"a"`, `"b"`, `"allow"`, `5`, `["a"]`)), randomHTTP(random)...), ",") + "}"
	}
	routes := make([]string, random.IntN(4))
	for i := range routes {
		routes[i] = "{" + strings.Join(some(random,
			`"path":`+pick(random, `"/"`, `"/a/*/**"`, `"/a*"`, `"a"`, `"/../a"`, `"/a/."`, `"/a?b"`, `"/é"`, `"/***"`, `"/**"`, `5`),
			`"policy":`+pick(random, `"a"`, `"a"`, `"a"`, `"b"`, `"A"`, `"pass"`, `""`, `1`),
			`"method":`+pick(random, `"GET"`, `["GET","POST"]`, `["GET","GET"]`, `[]`, `"get"`, `5`),
			`"host":`+pick(random, `"localhost"`, `"*.example.com"`, `"*.Example.COM"`, `"a..b"`, `"a-.b"`, `"*"`, `"a:80"`, `""`, `true`),
			`"http":{`+strings.Join(randomHTTP(random), ",")+`}`), ",") + "}"
	}
	return `"routes":[` + strings.Join(routes, ",") + "]"
}

// randomHTTP returns entries of the settings for HTTP.
func randomHTTP(random *rand.Rand) []string {
	durations := []string{`"none"`, `"1s"`, `"5m"`, `"1 hour"`, `"0s"`, `"-1s"`, `"x"`, `5`, `""`, `"999999d"`, `{}`}
	rates := []string{
		`"1KiB/s"`, `"64KiB/10s"`, `"none"`, `"1B/m"`, `"64 kb/s"`, `"64kb / S"`, `"2 BYTES/s"`, `"0B/s"`, `"1024GiB/s"`, `"1025GiB/s"`, `"1099511627777B/1s"`, `"1KiB/0s"`, `"1KiB/5"`, `"1.5KiB/s"`, `"01KiB/s"`,
		`"KiB/s"`, `"5/s"`, `"1TiB/s"`, `"1kiB/\ns"`, `"1 kb/s"`, `"1mib/-1s"`, `"99999999999999999999g/s"`, `1024`, `"1KiB"`, `"1B/1ns/s"`,
	}
	return some(random,
		`"body":`+pick(random, `5`, `{}`, `{"timeout":`+pick(random, durations...)+`}`, `{"min_rate":`+pick(random, rates...)+`}`, `{"min_rate":`+pick(random, rates...)+`}`, `{"minrate":"none"}`),
		`"stream_idle":`+pick(random, durations...),
		`"lifetime":`+pick(random, durations...),
		`"paths":`+pick(random, `"clean"`, `"strict"`, `"exact_bytes"`, `"exact"`, `5`),
	)
}

// some returns about two of three texts.
func some(random *rand.Rand, texts ...string) (list []string) {
	for _, text := range texts {
		if random.IntN(3) > 0 {
			list = append(list, text)
		}
	}
	return list
}

func pick(random *rand.Rand, texts ...string) string { return texts[random.IntN(len(texts))] }

// spaced puts white space behind some of the commas and colons of a text.
func spaced(random *rand.Rand, text string) string {
	var b strings.Builder
	for i := range len(text) {
		b.WriteByte(text[i])
		if strings.IndexByte(",:[{", text[i]) >= 0 && random.IntN(6) == 0 {
			b.WriteString(pick(random, " ", "\n", "\r\n", "\r", "\t", "\n    "))
		}
	}
	return b.String()
}

// pieces are put into texts, or in place of a part.
var pieces = []string{
	`"`, `,`, `:`, `{`, `}`, `[`, `]`, `\`, `null`, `true`, `0`, `-1`, `1.5`, `1e3`, `""`, `{}`, `[]`, `"none"`, `"é"`, `"😀"`, `"\u00e9"`, `"\ud800"`, `"\u0007"`, `"\u0000"`,
	" ", "\n", "\r", "\t", "\x00", "\x7f", "\xff", "\u0085", "\u200b", "\ufffd", "é", "x", "e", "s", "m", "%", "/", "-", "_", "p", "9", "00", ".", "A", "+",
	"1.5h", "1h30m", "250 ms", "5 seconds", "0.0000000001s", "106751d23h47m16.854775807s", "106751d23h47m16.854775808s", "1_000", "µs", "μs", "99999999999999999999s", "0.5%", "20.00001%",
	`"per":"key",`, `"name":"x",`, `"keys":5,`, `"shadow":true,`, `"scope":"shared",`, `"steps":[],`, `"version":1,`, `"$schema":5,`, `"routes":[],`, `"header:x"`, `"header:X-é"`, `"header"`, `"ip:x"`, `"hedaer:x"`, `"query: "`,
	`"circuit_breaker"`, `"rate_limit"`, `"time_out"`, `"adaptive"`, `"cache"`, `"http":{},`, `"64KB/s"`, `{"limit":5}`, `{"consecutive":5}`, strings.Repeat("long ", 20), strings.Repeat("é", 40), strings.Repeat("9", 30),
}

// mutated returns a text with a change.
func mutated(random *rand.Rand, text string) string {
	if len(text) == 0 || len(text) > 20_000 {
		return text + pieces[random.IntN(len(pieces))]
	}
	at := random.IntN(len(text))
	end := min(len(text), at+1+random.IntN(3))
	switch random.IntN(8) {
	case 0: // cut the end
		return text[:at]
	case 1, 2: // drop some bytes
		return text[:at] + text[end:]
	case 3: // swap two bytes
		if at+1 < len(text) {
			return text[:at] + text[at+1:at+2] + text[at:at+1] + text[at+2:]
		}
	case 4: // replace a whole text or number
		return replaced(random, text)
	case 5: // repeat a part
		return text[:end] + text[at:]
	case 6: // one byte for another
		return text[:at] + string(rune(' '+random.IntN(95))) + text[at+1:]
	}
	return text[:at] + pieces[random.IntN(len(pieces))] + text[at:]
}

// replaced returns a text in which another piece is in place of what is between two quotes or signs.
func replaced(random *rand.Rand, text string) string {
	at := random.IntN(len(text))
	const ends = `":,{}[]`
	from := strings.LastIndexAny(text[:at], ends) + 1
	to := strings.IndexAny(text[at:], ends)
	if to < 0 {
		to = len(text) - at
	}
	return text[:from] + pieces[random.IntN(len(pieces))] + text[at+to:]
}
