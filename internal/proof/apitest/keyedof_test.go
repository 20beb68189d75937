package apitest_test

import (
	"math"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sluice-go/sluice"
	"github.com/sluice-go/sluice/clock"
)

// account is a key with several parts.
type account struct {
	tenant string
	user   int
}

func TestKeyedLimiterOf(t *testing.T) {
	source := &clock.Virtual{}
	l, err := sluice.NewKeyedLimiterOf[account](rate(2, time.Minute), sluice.WithClock(source), sluice.WithMaxKeys(100))
	require.NoError(t, err)
	ann, ben := account{"a", 1}, account{"a", 2}
	assert.True(t, l.AllowN(ann, 2))
	assert.False(t, l.Allow(account{"a", 1}), "equal keys have one limit")
	assert.True(t, l.Allow(ben))
	assert.True(t, l.Allow(account{"A", 1}))
	free, after := l.Peek(ann, 1)
	assert.Zero(t, free)
	assert.Equal(t, 30*time.Second, after)
	assert.Equal(t, 3, l.Len())
	source.Advance(time.Minute)
	assert.True(t, l.Allow(ann))
	assert.Equal(t, 1, l.Len())
	assert.Zero(t, l.Evictions())
	for i := range 1000 {
		l.Allow(account{"b", i})
	}
	assert.Positive(t, l.Evictions(), "the maximum of keys is that of the options")
	_, err = sluice.NewKeyedLimiterOf[int](sluice.LimiterConfig{Count: 1, Period: time.Second, Queue: 1})
	require.Error(t, err)
}

func TestKeyedLimiterOfEqualKeys(t *testing.T) {
	zeros, err := sluice.NewKeyedLimiterOf[float64](rate(1, time.Hour))
	require.NoError(t, err)
	assert.True(t, zeros.Allow(0))
	assert.False(t, zeros.Allow(math.Copysign(0, -1)), "equal by ==")
	text, err := sluice.NewKeyedLimiterOf[any](rate(1, time.Hour))
	require.NoError(t, err)
	assert.True(t, text.Allow("1"))
	assert.True(t, text.Allow(1), "of another type")
	assert.False(t, text.Allow(1))
	addresses, err := sluice.NewKeyedLimiterOf[netip.Addr](rate(1, time.Hour))
	require.NoError(t, err)
	assert.True(t, addresses.Allow(netip.MustParseAddr("192.0.2.1")))
	assert.False(t, addresses.Allow(netip.MustParseAddr("192.0.2.1")))
}

// TestKeyedLimiterOfKeysWithoutEquality limits keys that are not equal to themselves, and
// those that == cannot compare.
func TestKeyedLimiterOfKeysWithoutEquality(t *testing.T) {
	nan := math.NaN()
	numbers, err := sluice.NewKeyedLimiterOf[float64](rate(1, time.Hour))
	require.NoError(t, err)
	assert.True(t, numbers.Allow(nan))
	assert.False(t, numbers.Allow(-nan))
	free, _ := numbers.Peek(nan, 1)
	assert.Zero(t, free)
	assert.Equal(t, 1, numbers.Len())
	type place struct {
		user string
		at   [2]complex128
	}
	places, err := sluice.NewKeyedLimiterOf[place](rate(1, time.Hour))
	require.NoError(t, err)
	for _, user := range []string{"ann", "ben"} {
		key := place{user, [2]complex128{1, complex(0, nan)}}
		assert.True(t, places.Allow(key))
		assert.False(t, places.Allow(key))
	}
	type tagged struct{ tag any }
	mixed, err := sluice.NewKeyedLimiterOf[tagged](rate(1, time.Hour))
	require.NoError(t, err)
	for _, tag := range []any{nil, nan, "a", []int{1}, []int{2}, map[string]int{"a": 1}, tagged{[]int{1}}, [1]any{[]int{1}}} {
		assert.True(t, mixed.Allow(tagged{tag}), "%v", tag)
		assert.False(t, mixed.Allow(tagged{tag}), "%v", tag)
	}
	arrays, err := sluice.NewKeyedLimiterOf[[2]any](rate(1, time.Hour))
	require.NoError(t, err)
	assert.True(t, arrays.Allow([2]any{1, []int{1}}))
	assert.False(t, arrays.Allow([2]any{1, []int{1}}))
}

// TestKeyedLimiterOfEvents has a listener hear the text of the key.
func TestKeyedLimiterOfEvents(t *testing.T) {
	l, err := sluice.NewKeyedLimiterOf[account](rate(1, time.Hour))
	require.NoError(t, err)
	var heard []string
	defer l.Listen(func(e sluice.Event) { heard = append(heard, e.Kind.String()+" "+e.Key) })()
	assert.True(t, l.Allow(account{"a", 1}))
	assert.False(t, l.Allow(account{"a", 1}))
	text := sluice.KeyOf(account{"a", 1})
	assert.Equal(t, []string{"admit " + text, "reject " + text}, heard)
	new(sluice.KeyedLimiterOf[int]).Listen(func(sluice.Event) {})()
}

func TestKeyedLimiterOfAllocatesNothing(t *testing.T) {
	numbers, err := sluice.NewKeyedLimiterOf[int](rate(1_000_000_000, time.Second))
	require.NoError(t, err)
	allocates(t, 0, "numbers", func() { numbers.Allow(7) })
	accounts, err := sluice.NewKeyedLimiterOf[account](rate(1_000_000_000, time.Second))
	require.NoError(t, err)
	key := account{"a", 1}
	allocates(t, 0, "structs", func() { accounts.Allow(key) })
	allocates(t, 0, "structs", func() { accounts.Peek(key, 1) })
}

func TestKeyOf(t *testing.T) {
	assert.Equal(t, "ann", sluice.KeyOf("ann"))
	assert.Equal(t, "-7", sluice.KeyOf(-7))
	assert.Equal(t, "-7", sluice.KeyOf(int64(-7)))
	assert.Equal(t, "18446744073709551615", sluice.KeyOf(uint64(math.MaxUint64)))
	assert.Equal(t, sluice.KeyOf(account{"a", 1}), sluice.KeyOf(account{"a", 1}))
	assert.NotEqual(t, sluice.KeyOf([2]string{"a b", "c"}), sluice.KeyOf([2]string{"a", "b c"}))
	assert.NotEqual(t, sluice.KeyOf([2]string{`a" "b`, "c"}), sluice.KeyOf([2]string{"a", `b" "c`}))
}
