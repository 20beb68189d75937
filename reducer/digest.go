package reducer

// The header of an encoded state: version, mechanism, and in 4 bytes a digest of
// the configuration.
const (
	headerDigest = 2
	headerSize   = 6
)

// Digest returns a hash of the stable binary form of a state: FNV-1a with 64 bits
// (Fowler, Noll, Vo; RFC 9923). It finds differences and is not cryptographic. It
// skips the digest of the configuration in the header, so that a replay under
// another configuration differs only where the states do.
func Digest(encoded []byte) uint64 {
	const offset, prime = 0xcbf29ce484222325, 0x100000001b3
	hash := uint64(offset)
	for i, b := range encoded {
		if i < headerDigest || i >= headerSize {
			hash = (hash ^ uint64(b)) * prime
		}
	}
	return hash
}
