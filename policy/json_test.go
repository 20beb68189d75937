package policy_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice/policy"
	"github.com/sluice-go/sluice/policy/document"
)

// TestToJSON keeps the order of settings, numbers and every character.
func TestToJSON(t *testing.T) {
	src, err := policy.ToJSON("p.yaml", []byte(`
version: 1
policies:
  z: &z {steps: [limit: {rate: 5/s, shadow: true, burst: 2}], fallback: {status: 503, body: "a\"\\\x7f\u00e9\U0001f600\t"}}
  a: *z
`))
	require.NoError(t, err)
	const one = `{
      "steps": [
        {
          "limit": {
            "rate": "5/s",
            "shadow": true,
            "burst": 2
          }
        }
      ],
      "fallback": {
        "status": 503,
        "body": "a\"\\\u007f\u00e9\ud83d\ude00\u0009"
      }
    }`
	assert.Equal(t, "{\n  \"version\": 1,\n  \"policies\": {\n    \"z\": "+one+",\n    \"a\": "+one+"\n  }\n}\n", string(src))
	doc, err := document.ParseJSON("p.json", src)
	require.NoError(t, err)
	assert.Equal(t, "a\"\\\x7fé\U0001f600\t", doc.Policies[0].Fallback.Body)

	_, err = policy.ToJSON("p.yaml", []byte("version: 2\n"))
	_, want := policy.Parse("p.yaml", []byte("version: 2\n"))
	assert.Equal(t, want, err)
	_, err = policy.ToJSON("p.yaml", []byte("{"))
	assert.Error(t, err)
}
