package policy_test

import (
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/core/mechanisms"
	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/internal/randompolicy"
	"github.com/sluice-go/sluice/internal/testenv"
	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/policy/document"
)

// beyond are the errors that a schema cannot find, in the words of the parser.
var beyond = append([]string{
	"a second step of the name", "at most one permit a nanosecond",
	"at most 53375d23h", "one for each bucket",
	"at least the base", "at most the default max", "a retry above the hedge",
	"below the chaos", "fail, throttle and ignore together",
	"is always refused", "at most one_above",
	"an address or a prefix as in", "shadow or enforce", "classes that make", "of other attributes", "each name once",
}, relations()...)

// relations are the texts of the relations between settings of one mechanism.
func relations() (texts []string) {
	for _, row := range rows() {
		for _, r := range mechanisms.Docs(row.Kind).Relations {
			text, _, _ := strings.Cut(r.Says, "#")
			texts = append(texts, text)
		}
	}
	return texts
}

// TestSchemaAgrees compares parser, schema and core on random policies: the schema
// accepts and the core compiles what the parser accepts; the parser refuses what the
// schema accepts only for rules that a schema cannot express.
func TestSchemaAgrees(t *testing.T) {
	schema := compileSchema(t)
	random := rand.New(rand.NewPCG(7, 8))
	accepted, refused := 0, 0
	for range 6_000 {
		src := `{"version":1,"policies":{"a":{"steps":` + randompolicy.Steps(random) + `}}}`
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(src))
		require.NoError(t, err, src)
		doc, err := policy.Parse("p.json", []byte(src))
		invalid := schema.Validate(value)
		if err == nil {
			accepted++
			require.NoError(t, invalid, src)
			_, err = pipeline.Compile(doc.Policies[0].Policy)
			require.NoError(t, err, src)
			continue
		}
		refused++
		if invalid == nil {
			for _, one := range err.(policy.Errors) {
				require.True(t, slices.ContainsFunc(beyond, func(text string) bool {
					return strings.Contains(one.Found+"; "+one.Allowed, text)
				}), "%s\n%s", src, one)
			}
		}
	}
	assert.Greater(t, accepted, 900)
	assert.Greater(t, refused, 900)
}

// TestResolvedIsTheSame reads every good document, and what is resolved of it: the policies
// are the same.
func TestResolvedIsTheSame(t *testing.T) {
	for _, file := range goodFiles(t) {
		src, err := os.ReadFile(file)
		require.NoError(t, err)
		plain, err := policy.Resolved(file, src)
		require.NoError(t, err, file)
		again, err := policy.Resolved("p.yaml", plain)
		require.NoError(t, err, "%s\n%s", file, plain)
		assert.Equal(t, string(plain), string(again))
		assert.NotRegexp(t, `(?m)^defaults:|^    (extends|change|add|remove):`, string(plain))
		doc, resolved := parseFile(t, file), parse(t, plain)
		require.Len(t, resolved.Policies, len(doc.Policies))
		for i := range doc.Policies {
			want, got := &doc.Policies[i], &resolved.Policies[i]
			assert.Equal(t, want.Policy, got.Policy, file)
			assert.Equal(t, want.Outcomes, got.Outcomes)
			assert.Equal(t, want.Methods, got.Methods)
			assert.Equal(t, want.HedgeMethods, got.HedgeMethods)
			assert.Equal(t, want.Description, got.Description)
			for j := range want.Extras {
				assert.Equal(t, want.Extras[j].Description, got.Extras[j].Description)
			}
		}
		assert.Equal(t, doc.HTTP, resolved.HTTP)
		assert.Equal(t, doc.Proxy, resolved.Proxy)
		assert.Len(t, resolved.Routes, len(doc.Routes))
	}
}

// TestResolved compares what is resolved of a document with the golden one.
func TestResolved(t *testing.T) {
	src, err := os.ReadFile("testdata/good/extends.yaml")
	require.NoError(t, err)
	plain, err := policy.Resolved("extends.yaml", src)
	require.NoError(t, err)
	golden(t, "testdata/resolved/extends.yaml", string(plain))

	_, err = policy.Resolved("p.yaml", []byte("version: 1\npolicies: {a: {extends: b}}\n"))
	assert.EqualError(t, err, `p.yaml:2:25: policies.a.extends: found the policy "b", which is not there; allowed the name of a policy of this document: a`)
	_, err = policy.Resolved("p.yaml", []byte("["))
	assert.Error(t, err)
}

// TestTakenIsBounded reads short documents whose policies take much from elsewhere. The
// test is that it ends.
func TestTakenIsBounded(t *testing.T) {
	wide := "[" + strings.Repeat("key,", 2_000) + "key]"
	extended, limited := "", ""
	for i := range 990 {
		extended += "  p" + strconv.Itoa(i) + ": {extends: base, change: [limit: {wait: 1s}]}\n"
		limited += "  p" + strconv.Itoa(i) + ": {steps: [limit: 5/s]}\n"
	}
	for _, src := range []string{
		"version: 1\npolicies:\n  base: {steps: [limit: {rate: 5/s, per: " + wide + "}]}\n" + extended,
		"version: 1\ndefaults: {limit: {per: " + wide + "}}\npolicies:\n" + limited,
	} {
		_, err := policy.Parse("p.yaml", []byte(src))
		require.Error(t, err)
		assert.Equal(t, 1, strings.Count(err.Error(), "found defaults and extends that add more than 250000 values"))
	}
	full := "version: 1\ndefaults: {limit: {wait: 1s, per: key}}\npolicies:\n  base: {steps: [limit: 5/s]}\n" + extended
	doc, err := policy.Parse("p.yaml", []byte(full))
	require.NoError(t, err)
	assert.Equal(t, []string{"key"}, doc.Lookup("p989").Steps[0].Per)
}

// parse reads a document in YAML.
func parse(t *testing.T, src []byte) *policy.Document {
	t.Helper()
	doc, err := policy.Parse("p.yaml", src)
	require.NoError(t, err, "%s", src)
	return doc
}

// TestSchemaAgreesOnDocuments compares parser, schema and core on random documents whose
// policies take settings from elsewhere: the schema accepts and the core compiles what the
// parser accepts, and what is resolved of it has the same policies.
func TestSchemaAgreesOnDocuments(t *testing.T) {
	schema := compileSchema(t)
	seed, accepted, refused := testenv.Seed(), 0, 0
	t.Logf("SLUICE_SEED=%d", seed)
	random := rand.New(rand.NewPCG(seed, 2))
	for range testenv.Cases(6_000) {
		src := randompolicy.Document(random)
		doc, err := policy.Parse("p.json", []byte(src))
		if err != nil {
			refused++
			continue
		}
		accepted++
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(src))
		require.NoError(t, err, src)
		require.NoError(t, schema.Validate(value), src)
		plain, err := policy.Resolved("p.json", []byte(src))
		require.NoError(t, err, src)
		resolved := parse(t, plain)
		require.Len(t, resolved.Policies, len(doc.Policies))
		for i := range doc.Policies {
			require.Equal(t, doc.Policies[i].Policy, resolved.Policies[i].Policy, "%s\n%s", src, plain)
			_, err := pipeline.Compile(doc.Policies[i].Policy)
			require.NoError(t, err, src)
		}
	}
	assert.Greater(t, accepted, 300)
	assert.Greater(t, refused, 300)
}

// TestYAMLIsJSON reads every good document as YAML and, translated, as JSON: except
// for the places they are the same.
func TestYAMLIsJSON(t *testing.T) {
	for _, file := range goodFiles(t) {
		doc := parseFile(t, file)
		yaml, err := os.ReadFile(file)
		require.NoError(t, err)
		src, err := policy.ToJSON(file, yaml)
		require.NoError(t, err)
		again, err := policy.ToJSON("p.json", src)
		require.NoError(t, err)
		assert.Equal(t, string(src), string(again))
		translated, err := document.ParseJSON("p.json", src)
		require.NoError(t, err, file)
		require.Len(t, translated.Policies, len(doc.Policies))
		for i := range doc.Policies {
			want := &doc.Policies[i]
			got := translated.Lookup(want.Name)
			assert.Equal(t, want.Policy, got.Policy)
			assert.Equal(t, want.Outcomes, got.Outcomes)
			assert.Equal(t, want.Methods, got.Methods)
			assert.Equal(t, want.HedgeMethods, got.HedgeMethods)
		}
		assert.Equal(t, doc.HTTP, translated.HTTP)
		assert.Equal(t, doc.Proxy, translated.Proxy)
		require.Len(t, translated.Routes, len(doc.Routes))
		for i, want := range doc.Routes {
			got := translated.Routes[i]
			got.Line, got.Column = want.Line, want.Column
			assert.Equal(t, want, got)
		}
	}
}
