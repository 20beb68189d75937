package serve

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"
)

// access writes a line of JSON for each request. cmd/sluice/README.md describes the
// fields.
type access struct {
	handler  slog.Handler
	priority string // the header field, empty for none
	sample   int64  // of so many requests that succeed, one is written
	passed   atomic.Int64
	lost     func(error) // is called for a line that cannot be written
}

// newAccess returns nil without a writer.
func newAccess(to io.Writer, sample int, priority string, lost func(error)) *access {
	if to == nil {
		return nil
	}
	return &access{lost: lost, priority: priority, sample: int64(max(sample, 1)),
		handler: slog.NewJSONHandler(to, &slog.HandlerOptions{ReplaceAttr: onlyFields})}
}

// onlyFields leaves out what slog adds and every line would have alike.
func onlyFields(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && (a.Key == slog.LevelKey || a.Key == slog.MessageKey) {
		return slog.Attr{}
	}
	return a
}

// grpcStatus returns the status of an answer of gRPC from its headers or its trailers,
// empty for another answer.
func grpcStatus(h http.Header) string {
	if text := h.Get("Grpc-Status"); text != "" {
		return text
	}
	return h.Get(http.TrailerPrefix + "Grpc-Status")
}

// write writes the line of a request that is over. Failures and refusals are always
// written, of the others a sample.
func (a *access) write(r *http.Request, t *call, start time.Time) {
	sampled := t.status < 400 && a.sample > 1
	if sampled && (a.passed.Add(1)-1)%a.sample != 0 {
		return
	}
	attrs := []slog.Attr{
		slog.String("method", r.Method), slog.String("host", r.Host), slog.String("path", r.URL.EscapedPath()),
		slog.String("proto", r.Proto), slog.Int("status", t.status), slog.Int64("bytes", t.bytes),
		slog.Float64("seconds", time.Since(start).Seconds()), slog.String("peer", r.RemoteAddr),
	}
	text := func(name, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(name, value))
		}
	}
	text("query", r.URL.RawQuery)
	text("policy", t.policy)
	text("route", t.route)
	if t.attempts > 0 {
		attrs = append(attrs, slog.Int("attempts", t.attempts))
	}
	text("reason", t.Header().Get("X-Throttle-Reason"))
	text("grpc_status", grpcStatus(t.Header()))
	text("client", subject(r))
	text("forwarded_for", strings.Join(r.Header[forwardedFor], ", "))
	if a.priority != "" {
		text("priority", strings.Join(r.Header.Values(a.priority), ", "))
	}
	text("request_id", r.Header.Get("X-Request-Id"))
	text("referer", r.Referer())
	text("user_agent", r.UserAgent())
	if sampled {
		attrs = append(attrs, slog.Int64("sample", a.sample))
	}
	record := slog.NewRecord(start, slog.LevelInfo, "", 0)
	record.AddAttrs(attrs...)
	// A line that cannot be written must not end the request.
	if err := a.handler.Handle(context.Background(), record); err != nil {
		a.lost(err)
	}
}
