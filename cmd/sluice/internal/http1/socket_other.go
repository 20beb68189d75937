//go:build !unix

package http1

import "net"

// hasSockets says that a connection cannot be looked at without waiting.
const hasSockets = false

type socket struct{}

func newSocket(net.Conn) *socket { return nil }

func (*socket) exchange(*conn, []byte) (int, error) { panic("there are no sockets") }
