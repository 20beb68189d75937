package shared

import (
	"encoding/binary"
	"math/bits"
)

// Hash is the hash of a key.
type Hash [16]byte

// Seed makes the hashes of one process unknown to its clients, who could otherwise
// choose keys of one group.
type Seed [2]uint64

// sip is the state of SipHash (Aumasson and Bernstein, SipHash: a fast short-input PRF,
// 2012).
type sip struct{ a, b, c, d uint64 }

func (s *sip) round() {
	s.a += s.b
	s.c += s.d
	s.b = bits.RotateLeft64(s.b, 13) ^ s.a
	s.d = bits.RotateLeft64(s.d, 16) ^ s.c
	s.a = bits.RotateLeft64(s.a, 32)
	s.c += s.b
	s.a += s.d
	s.b = bits.RotateLeft64(s.b, 17) ^ s.c
	s.d = bits.RotateLeft64(s.d, 21) ^ s.a
	s.c = bits.RotateLeft64(s.c, 32)
}

func (s *sip) block(m uint64) {
	s.d ^= m
	s.round()
	s.round()
	s.a ^= m
}

func (s *sip) finish() uint64 {
	for range 4 {
		s.round()
	}
	return s.a ^ s.b ^ s.c ^ s.d
}

// Of returns the hash of a key: SipHash-2-4 of 128 bits.
func (k Seed) Of(key string) (h Hash) {
	s := sip{k[0] ^ 0x736f6d6570736575, k[1] ^ 0x646f72616e646f6d ^ 0xee, k[0] ^ 0x6c7967656e657261, k[1] ^ 0x7465646279746573}
	last := uint64(len(key)) << 56
	for ; len(key) >= 8; key = key[8:] {
		s.block(word(key))
	}
	s.block(last | word(key))
	s.c ^= 0xee
	binary.LittleEndian.PutUint64(h[:], s.finish())
	s.b ^= 0xdd
	binary.LittleEndian.PutUint64(h[8:], s.finish())
	return h
}

// word returns the first 8 bytes of a text, or all of a shorter one, little-endian.
func word(text string) (w uint64) {
	for i := range min(len(text), 8) {
		w |= uint64(text[i]) << (8 * i)
	}
	return w
}

// Word returns a number that follows from another one and the seed.
func (k Seed) Word(n uint64) uint64 {
	var text [8]byte
	binary.LittleEndian.PutUint64(text[:], n)
	h := k.Of(string(text[:]))
	return binary.LittleEndian.Uint64(h[:])
}
