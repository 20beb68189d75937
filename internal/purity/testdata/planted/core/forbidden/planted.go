package forbidden

import (
	"context"      // want import
	"fmt"          // want import
	"math"         // want import
	_ "math/rand"  // want import
	_ "no/such/at" // want import
	"os"           // want import
	"reflect"      // want import
	"sync"         // want import
	"sync/atomic"  // want import
	_ "unsafe"     // want import

	_ "example.test/planted"         // want import
	_ "example.test/planted/outside" // want import
)

var mu sync.Mutex // want variable

func Do(ctx context.Context) float64 {
	mu.Lock()
	var n atomic.Int64
	fmt.Println(os.Args, reflect.TypeOf(n), ctx)
	return math.Exp(1) + math.Pow(2, 3) // want math math
}
