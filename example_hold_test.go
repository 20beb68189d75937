package sluice_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sluice-go/sluice"
)

// heldBody is a body that keeps a place until it is closed.
type heldBody struct {
	io.Reader
	release func()
}

// Close implements io.Closer.
func (b heldBody) Close() error {
	b.release()
	return nil
}

// An answer that is read after the function has returned keeps its place in the bulkhead
// until it is closed.
func ExampleHold() {
	set, err := sluice.Parse("policy.yaml", []byte(`{version: 1, policies: {files: {steps: [{bulkhead: 1}]}}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	open := func(ctx context.Context) (io.ReadCloser, error) {
		return heldBody{strings.NewReader("a long file"), sluice.Hold(ctx)}, nil
	}
	files := set.Pipeline("files")
	body, err := sluice.DoWith(context.Background(), files, sluice.Request{Holdable: true}, open)
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = sluice.DoWith(context.Background(), files, sluice.Request{Holdable: true}, open)
	fmt.Println("while it is read:", errors.Is(err, sluice.ErrRejected))
	text, err := io.ReadAll(body)
	fmt.Println(string(text), err, body.Close())
	body, err = sluice.DoWith(context.Background(), files, sluice.Request{Holdable: true}, open)
	fmt.Println("after it is closed:", err, body.Close())
	// Output:
	// while it is read: true
	// a long file <nil> <nil>
	// after it is closed: <nil> <nil>
}
