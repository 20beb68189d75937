package guards

import "net/http"

// HeaderSize returns how many bytes header fields have as HTTP/1.1 writes them, and how many
// lines they are.
func HeaderSize(h http.Header) (bytes, fields int) {
	for name, lines := range h {
		fields += len(lines)
		for _, line := range lines {
			bytes += len(name) + len(line) + len(": \r\n")
		}
	}
	return bytes, fields
}

// RequestSize is HeaderSize with the first line of a request and its Host.
func RequestSize(r *http.Request) (bytes, fields int) {
	bytes, fields = HeaderSize(r.Header)
	return bytes + len(r.Method) + len(r.RequestURI) + len(r.Proto) + len("  \r\nHost: \r\n") + len(r.Host), fields + 1
}
