package binary

import "encoding/binary"

func Put(v any) []byte {
	b, _ := binary.Append(nil, binary.LittleEndian, v) // want binary
	binary.NativeEndian.PutUint64(b, 1)                // want binary
	return binary.BigEndian.AppendUint16(b, 1)
}
