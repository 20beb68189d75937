package script

import (
	"reflect"
	"strconv"
	"testing"
)

// Sized checks that values of the type take so many bytes where a word has eight,
// and no more elsewhere, and that they are Flat.
func Sized[T any](t *testing.T, size uintptr) {
	t.Helper()
	of := reflect.TypeFor[T]()
	if of.Size() > size || strconv.IntSize == 64 && of.Size() < size {
		t.Errorf("%v takes %d bytes, want %d", of, of.Size(), size)
	}
	Flat[T](t)
}

// Flat checks that values of the type are compared with ==, and that they hold no
// pointers, slices, maps or strings, so that a copy is a snapshot.
func Flat[T any](t *testing.T) {
	t.Helper()
	of := reflect.TypeFor[T]()
	if !of.Comparable() {
		t.Errorf("%v is not comparable", of)
	}
	if where := pointer(of, of.String()); where != "" {
		t.Errorf("%s is or holds a pointer", where)
	}
}

// pointer names the first part of a type that points to something.
func pointer(of reflect.Type, where string) string {
	switch of.Kind() {
	case reflect.Array:
		return pointer(of.Elem(), where+"[]")
	case reflect.Struct:
		for i := range of.NumField() {
			f := of.Field(i)
			if found := pointer(f.Type, where+"."+f.Name); found != "" {
				return found
			}
		}
		return ""
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return ""
	}
	return where
}
