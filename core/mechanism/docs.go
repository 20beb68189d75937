package mechanism

// Docs are the texts of a mechanism for people, in Markdown. The JSON Schema and
// the tables of the reference page are made of them and of the row.
type Docs struct {
	// Means says in a sentence what the mechanism does.
	Means string
	// Examples of the settings as a document in JSON has them.
	Examples []string
	// Settings has the texts of every setting of the row, parts included.
	Settings []Doc
	// Schema is a JSON object with the conditions of the JSON Schema that do not
	// follow from the types: what cannot stand beside what. Empty for none.
	Schema string
}

// Setting returns the texts of a setting, nil for none.
func (d *Docs) Setting(name string) *Doc {
	for i := range d.Settings {
		if d.Settings[i].Name == name {
			return &d.Settings[i]
		}
	}
	return nil
}

// Doc is what people read about a setting. What is empty follows from the row.
type Doc struct {
	// Name as for Row.Setting.
	Name string
	// Type and Range of the value.
	Type, Range string
	// Note behind the type: what the setting needs, or excludes.
	Note string
	// Value is the default in JSON. Empty where it depends on other settings, or
	// where there is none.
	Value string
	// Default says the default where Value does not say all.
	Default string
	// Example is an entry of the map of settings, as in "attempts: 5".
	Example string
	// Meaning of the value, and what a Larger and a Smaller one do.
	Meaning, Larger, Smaller string
}
