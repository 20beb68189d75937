package serve

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDefaultConnections leaves descriptors to upstreams and files.
func TestDefaultConnections(t *testing.T) {
	for _, c := range []struct{ descriptors, upstreams, each, want int }{
		{0, 1, 4096, 0},
		{1 << 20, 1, 4096, 1<<20 - 64 - 4096},
		{1 << 20, 3, 4096, 1<<20 - 64 - 3*4096},
		{1 << 20, 1, 0, (1<<20 - 64) / 2},
		{1024, 1, 4096, 480},
		{1024, 2, 100, 760},
		{64, 1, 4096, 24},
		{1, 1, 4096, 1},
	} {
		assert.Equal(t, c.want, defaultConnections(c.descriptors, c.upstreams, c.each), "%+v", c)
	}
}

// TestConnectionsAreBounded: one more is closed at once, told and counted, with TLS and
// without.
func TestConnectionsAreBounded(t *testing.T) {
	for name, set := range map[string]func(*Config){"plain": func(*Config) {}, "TLS": newPair(t).config} {
		t.Run(name, func(t *testing.T) {
			p := run(t, open, http.NotFoundHandler(), set, func(c *Config) { c.MaxConnections = 2 })
			var last net.Conn
			for range 3 {
				conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
				require.NoError(t, err)
				defer conn.Close()
				last = conn
			}
			_, err := last.Read(make([]byte, 1))
			assert.Error(t, err)
			assert.EqualValues(t, 2, p.journal.await(t, "a connection of a client was closed")["allowed"])
			assert.Equal(t, "sluice_client_connections_closed_total 1", p.metric(t, "sluice_client_connections_closed_total"))
		})
	}
}

// TestConnectionFreesItsSlot when it is closed, once, whatever is between it and the server.
func TestConnectionFreesItsSlot(t *testing.T) {
	for name, trusted := range map[string][]netip.Prefix{"plain": nil,
		"behind a hop of the PROXY protocol": {netip.MustParsePrefix("127.0.0.0/8")}} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			defer l.Close()
			clients := &clientsListener{Listener: l, slots: newSlots(2, 0), spares: &spares{}}
			server := clientListener{withProxyProtocol(clients, trusted)}
			for range 5 {
				there, err := net.Dial("tcp", l.Addr().String())
				require.NoError(t, err)
				here, err := server.Accept()
				require.NoError(t, err)
				assert.Len(t, clients.slots.taken, 1)
				require.NoError(t, here.Close())
				assert.Error(t, here.Close())
				assert.Empty(t, clients.slots.taken)
				require.NoError(t, there.Close())
			}
		})
	}
}
