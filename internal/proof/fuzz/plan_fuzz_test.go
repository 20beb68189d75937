package fuzz

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/sluice-go/sluice/core/pipeline"
	"github.com/sluice-go/sluice/core/planbytes"
	"github.com/sluice-go/sluice/policy"
)

// FuzzPlanBytes gives any bytes to the decoder of plans. What does not compile has a
// place; what does has one form in bytes, which is a plan of the same steps.
func FuzzPlanBytes(f *testing.F) {
	files, err := filepath.Glob("../../../policy/testdata/good/*")
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds: ", err)
	}
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		doc, err := policy.Parse(file, src)
		if err != nil {
			f.Fatal(err)
		}
		for i := range doc.Policies {
			plan, err := pipeline.Compile(doc.Policies[i].Policy)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(planbytes.Append(nil, plan))
		}
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		plan, err := planbytes.Compile(src)
		if err != nil {
			wrong, ok := err.(*planbytes.Error)
			if !ok || wrong.Field == "" || wrong.Step < -1 || wrong.Step >= pipeline.MaxSteps {
				t.Fatalf("%#v", err)
			}
			return
		}
		form := planbytes.Append(nil, plan)
		again, err := planbytes.Compile(form)
		if err != nil {
			t.Fatalf("%x: %v", form, err)
		}
		if twice := planbytes.Append(nil, again); !bytes.Equal(form, twice) {
			t.Fatalf("%x and %x", form, twice)
		}
		for i := range plan.Len() {
			a, b := plan.Step(i), again.Step(i)
			if a.Keys, b.Keys = plan.Keys(i).Keys, again.Keys(i).Keys; !reflect.DeepEqual(a, b) {
				t.Fatalf("%+v and %+v", a, b)
			}
		}
	})
}
