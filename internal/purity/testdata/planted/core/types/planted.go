package types

func Bad() int { return "not a number" } // want types
