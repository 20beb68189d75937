package nethttp_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/bindings/nethttp"
	"github.com/sluice-go/sluice/reducer"
)

const target = "http://vendor.test/v1/things?q=1"

// thrice repeats at once.
var thrice = []string{"steps:", "  - retry: {attempts: 3, backoff: none}"}

func TestRetriesFailingAnswersOfIdempotentRequests(t *testing.T) {
	for name, c := range map[string]struct {
		first    func(*http.Request) (*http.Response, error)
		method   string
		header   string
		attempts int
	}{
		"5xx":               {status(503), "GET", "", 2},
		"429":               {status(429), "PUT", "", 2},
		"501":               {status(501), "GET", "", 1},
		"505":               {status(505), "GET", "", 1},
		"511":               {status(511), "GET", "", 1},
		"certificate":       {failure(&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}), "GET", "", 1},
		"host of it":        {failure(fmt.Errorf("tls: %w", x509.HostnameError{Certificate: &x509.Certificate{}, Host: "x"})), "GET", "", 1},
		"expired":           {failure(x509.CertificateInvalidError{Reason: x509.Expired}), "GET", "", 1},
		"4xx":               {status(404), "GET", "", 1},
		"2xx":               {status(204), "GET", "", 1},
		"reset":             {failure(io.ErrUnexpectedEOF), "DELETE", "", 2},
		"not idempotent":    {status(503), "POST", "", 1},
		"key":               {status(503), "POST", "Idempotency-Key", 2},
		"older key":         {status(503), "PATCH", "X-Idempotency-Key", 2},
		"upgrade":           {status(503), "GET", "Upgrade", 1},
		"no method is GET":  {status(500), "", "", 2},
		"caller's mistake":  {failure(errors.New("net/http: invalid method \"X Y\"")), "GET", "", 1},
		"transport timeout": {failure(context.DeadlineExceeded), "GET", "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			next := answers(c.first, status(200))
			tr := nethttp.NewTransport(next, policyOf(t, thrice...))
			r := get(t, target)
			r.Method = c.method
			if c.header != "" {
				r.Header.Set(c.header, "x")
			}
			resp, err := tr.RoundTrip(r)
			if err == nil {
				text(t, resp)
			}
			assert.Len(t, next.seen, c.attempts)
			assert.Zero(t, next.bodies.Load(), "bodies left open")
		})
	}
}

func TestLastAnswerIsReturnedWithItsBody(t *testing.T) {
	next := answers(status(500), status(502), status(503))
	p := policyOf(t, thrice...)
	resp, err := nethttp.NewTransport(next, p).RoundTrip(get(t, target))
	require.NoError(t, err)
	assert.Equal(t, 503, resp.StatusCode)
	assert.EqualValues(t, 1, next.bodies.Load(), "the abandoned answers are closed")
	assert.Equal(t, "Service Unavailable", text(t, resp))
	assert.Zero(t, next.bodies.Load())
	info, ok := nethttp.Info(resp)
	assert.True(t, ok)
	assert.Equal(t, nethttp.Details{Policy: "p", Attempts: 3, GaveUp: reducer.ReasonAttempts}, info)
}

func TestWhyNotRepeatedIsVisible(t *testing.T) {
	p := policyOf(t, thrice...)
	var notes []string
	p.Listen(func(e sluice.Event) {
		if e.Note != "" {
			notes = append(notes, e.Note)
		}
	})
	tr := nethttp.NewTransport(answers(status(503)), p)
	resp, err := tr.RoundTrip(request(t, "POST", target, nil))
	require.NoError(t, err)
	text(t, resp)
	info, _ := nethttp.Info(resp)
	assert.Equal(t, "POST is not idempotent, and there is no Idempotency-Key", info.NoRetry)
	assert.Equal(t, []string{info.NoRetry}, notes)

	broken := nethttp.NewTransport(answers(failure(io.ErrUnexpectedEOF)), p)
	_, err = broken.RoundTrip(request(t, "POST", target, nil))
	var gaveUp *sluice.RetryError
	require.ErrorAs(t, err, &gaveUp)
	assert.Equal(t, info.NoRetry, gaveUp.Note)
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

func TestRetryAfterIsTheFloor(t *testing.T) {
	for name, c := range map[string]struct {
		header []string
		want   time.Duration
	}{
		"none":                 {nil, 0},
		"seconds":              {[]string{"Retry-After", "7"}, 7 * time.Second},
		"date":                 {[]string{"Retry-After", "Sat, 01 Jan 2000 00:00:09 GMT"}, 9 * time.Second},
		"date from the Date":   {[]string{"Retry-After", "Wed, 01 Jan 2020 00:00:30 GMT", "Date", "Wed, 01 Jan 2020 00:00:00 GMT"}, 30 * time.Second},
		"date that has passed": {[]string{"Retry-After", "Fri, 31 Dec 1999 00:00:00 GMT"}, 0},
		"unreadable":           {[]string{"Retry-After", "soon"}, 0},
		"negative":             {[]string{"Retry-After", "-5"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // begins on 2000-01-01
				tr := nethttp.NewTransport(answers(status(503, c.header...), status(200)), policyOf(t, thrice...))
				start := time.Now()
				resp, err := tr.RoundTrip(get(t, target))
				require.NoError(t, err)
				text(t, resp)
				assert.Equal(t, 200, resp.StatusCode)
				assert.Equal(t, c.want, time.Since(start))
			})
		})
	}
}

func TestPlaceIsHeldUntilTheBodyIsDone(t *testing.T) {
	p := policyOf(t, "steps:", "  - bulkhead: 1")
	tr := nethttp.NewTransport(answers(status(200)), p)
	first, err := tr.RoundTrip(get(t, target))
	require.NoError(t, err)
	assert.Equal(t, 0, free(t, p))
	_, err = tr.RoundTrip(get(t, target))
	require.ErrorIs(t, err, sluice.ErrRejected)
	_, err = io.ReadAll(first.Body)
	require.NoError(t, err)
	assert.Equal(t, 1, free(t, p), "the body was read to its end")

	second, err := tr.RoundTrip(get(t, target))
	require.NoError(t, err)
	assert.Equal(t, 0, free(t, p))
	require.NoError(t, second.Body.Close())
	assert.Equal(t, 1, free(t, p), "the body was closed")
	require.NoError(t, first.Body.Close())
	require.NoError(t, second.Body.Close())
	assert.Equal(t, 1, free(t, p))
}

func TestPlaceOfAnAbandonedAttemptIsGivenBackBeforeTheBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policyOf(t, "steps:", "  - retry: {attempts: 2, backoff: {constant: 10s}, jitter: none}", "  - bulkhead: 1")
		next := answers(status(503))
		tr := nethttp.NewTransport(next, p)
		done := make(chan *http.Response)
		go func() {
			resp, err := tr.RoundTrip(get(t, target))
			assert.NoError(t, err)
			done <- resp
		}()
		synctest.Wait()
		assert.Equal(t, 1, free(t, p), "nothing is held in the backoff")
		assert.Zero(t, next.bodies.Load())
		resp := <-done
		assert.Equal(t, 0, free(t, p), "the last answer is still to be read")
		text(t, resp)
		assert.Equal(t, 1, free(t, p))
	})
}

// slow is a body that ends after a while, or with its request's context.
type slow struct {
	ctx  context.Context
	last time.Time
}

func (s *slow) Read(b []byte) (int, error) {
	select {
	case <-s.ctx.Done():
		return 0, s.ctx.Err()
	case <-time.After(time.Second):
	}
	if time.Now().After(s.last) {
		return 0, io.EOF
	}
	b[0] = '.'
	return 1, nil
}

func (*slow) Close() error { return nil }

func TestTimeoutsOfATransport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policyOf(t, "steps:", "  - timeout: 20s", "  - timeout: 10s")
		tr := nethttp.NewTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		}), p)
		start := time.Now()
		_, err := tr.RoundTrip(get(t, target))
		var cut *sluice.TimeoutError
		require.ErrorAs(t, err, &cut)
		assert.Equal(t, 10*time.Second, time.Since(start))
		assert.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func TestCallerThatGivesUpEndsTheBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policyOf(t, "steps:", "  - timeout: 1h", "  - bulkhead: 1")
		tr := nethttp.NewTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: 200, Body: &slow{r.Context(), time.Now().Add(time.Minute)}}, nil
		}), p)
		ctx, cancel := context.WithCancel(t.Context())
		resp, err := tr.RoundTrip(get(t, target).WithContext(ctx))
		require.NoError(t, err)
		time.AfterFunc(5*time.Second+1, cancel)
		n, err := io.Copy(io.Discard, resp.Body)
		assert.ErrorIs(t, err, context.Canceled)
		assert.EqualValues(t, 5, n)
		assert.Equal(t, 1, free(t, p), "a body that failed holds nothing")
	})
}

func TestAbandonedBodyThatTricklesIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := policyOf(t, thrice...)
		n := 0
		tr := nethttp.NewTransport(roundTripper(func(r *http.Request) (*http.Response, error) {
			if n++; n == 1 {
				return &http.Response{StatusCode: 500, Body: &slow{r.Context(), time.Now().Add(time.Hour)}}, nil
			}
			return status(200)(r)
		}), p)
		start := time.Now()
		resp, err := tr.RoundTrip(get(t, target))
		require.NoError(t, err)
		assert.Equal(t, 200, resp.StatusCode)
		assert.Less(t, time.Since(start), time.Second)
		text(t, resp)
	})
}

// TestAnswersWithoutAVote has answers and errors that say nothing of the dependency's health.
func TestAnswersWithoutAVote(t *testing.T) {
	certificate := failure(&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}})
	for name, answer := range map[string]func(*http.Request) (*http.Response, error){"501": status(501), "505": status(505), "511": status(511), "certificate": certificate} {
		p := policyOf(t, "steps:", "  - breaker: {window: {consecutive: 1}}")
		if resp, err := nethttp.NewTransport(answers(answer), p).RoundTrip(get(t, target)); err == nil {
			text(t, resp)
		}
		assert.Equal(t, "closed", p.State()[0].Mode, name)
	}
}
