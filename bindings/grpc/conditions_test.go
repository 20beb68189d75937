package sluicegrpc_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestDenied: a call that the policy denies is PERMISSION_DENIED, and the service is not
// called.
func TestDenied(t *testing.T) {
	inVirtualTime(t, "denied", func(t *testing.T) {
		svc := &service{unary: func(context.Context, int, string) (string, error) { return "", nil }}
		conn := start(t, svc, guards(policyOf(t, `{deny: {key: ""}, steps: [limit: 1/1h]}`)))
		_, err := invoke(t.Context(), conn, get, "")
		assert.Equal(t, codes.PermissionDenied, status.Code(err))
		assert.Equal(t, "The policy of the service denies the request.", status.Convert(err).Message())
		assert.Zero(t, svc.calls.Load())
	})
}
