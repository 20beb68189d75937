package keyed

import "math/bits"

// Seed is the key of a hash. Where strangers choose the keys of a table they
// must not know it.
type Seed [2]uint64

// Hash returns the hash of a key: SipHash-2-4 with 128 bits. The same seed and
// key always have the same hash.
func (s Seed) Hash(key string) Hash {
	v := sip{
		s[0] ^ 0x736f6d6570736575, s[1] ^ 0x646f72616e646f6d ^ 0xee,
		s[0] ^ 0x6c7967656e657261, s[1] ^ 0x7465646279746573,
	}
	length := uint64(len(key))
	for ; len(key) >= 8; key = key[8:] {
		v.word(word(key))
	}
	v.word(length<<56 | word(key))
	v[2] ^= 0xee
	v.rounds(4)
	lo := v[0] ^ v[1] ^ v[2] ^ v[3]
	v[1] ^= 0xdd
	v.rounds(4)
	return Hash{Lo: lo, Hi: v[0] ^ v[1] ^ v[2] ^ v[3]}
}

// word returns the first eight bytes of a text, or as many as it has, as a
// number.
func word(text string) (w uint64) {
	if len(text) >= 8 {
		return uint64(text[0]) | uint64(text[1])<<8 | uint64(text[2])<<16 | uint64(text[3])<<24 |
			uint64(text[4])<<32 | uint64(text[5])<<40 | uint64(text[6])<<48 | uint64(text[7])<<56
	}
	for i := range len(text) {
		w |= uint64(text[i]) << (8 * i)
	}
	return w
}

// sip is the state of SipHash.
type sip [4]uint64

func (v *sip) word(m uint64) {
	v[3] ^= m
	v.rounds(2)
	v[0] ^= m
}

func (v *sip) rounds(n int) {
	a, b, c, d := v[0], v[1], v[2], v[3]
	for range n {
		a += b
		b = bits.RotateLeft64(b, 13) ^ a
		a = bits.RotateLeft64(a, 32)
		c += d
		d = bits.RotateLeft64(d, 16) ^ c
		a += d
		d = bits.RotateLeft64(d, 21) ^ a
		c += b
		b = bits.RotateLeft64(b, 17) ^ c
		c = bits.RotateLeft64(c, 32)
	}
	v[0], v[1], v[2], v[3] = a, b, c, d
}
