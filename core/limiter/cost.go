package limiter

// Cost says how many permits a call takes at a step of a pipeline. The zero value
// means as many as the call names. Source: policy/REFERENCE.md#costs.
type Cost struct {
	// Attribute of the call whose value is the cost, a whole number, as in
	// "header:x-tokens". Empty for none.
	Attribute string
	// Permits of a call whose Attribute has no whole number, 0 to the capacity of the
	// limiter, or places, 1 to all places of the bulkhead or the greatest adaptive limit.
	// Without an Attribute, the permits of every call; 0 then means as many as the call names,
	// or one place.
	Permits uint32
}

// most returns the greatest cost that a limiter of the configuration can ever admit.
func (c *Config) most() uint32 {
	if c.Algorithm == TokenBucket {
		return c.AtOnce()
	}
	return c.Count
}
