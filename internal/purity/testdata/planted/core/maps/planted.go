package maps

type set map[string]int

func Sum(m map[string]int, s set) (sum int) {
	for _, v := range m { // want map-range
		sum += v
	}
	for range s { // want map-range
		sum++
	}
	return sum
}

func Keys[M ~map[K]V, K comparable, V any](m M) (keys []K) {
	for k := range m { // want map-range
		keys = append(keys, k)
	}
	return keys
}
