package fused

type number interface{ ~int64 | ~float64 }

func Fused(x, y, z float64) float64 {
	a := x*y + z    // want float
	a += x * y      // want float
	a = z - (x * y) // want float
	t := x * y      // want float
	a = t + z
	a *= x           // want float
	a = -(x * y) + z // want float
	a = float64(x*y) + z
	a = float64(x*y*z) + z
	if x*y < z {
		a = x * y / z
	}
	const k = 2.0
	a = k*3.0 + a
	n := int64(x * y)
	_ = n*2 + 1
	return z * y // want float
}

func Generic[T number](x, y, z T) T { return x*y + z } // want float

func Complex(x, y, z complex128) complex128 { return x*y + z } // want float
