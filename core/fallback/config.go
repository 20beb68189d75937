package fallback

// Config is what a caller gets in place of a refusal or a failure.
type Config struct {
	// Status of the HTTP answer, 100 to 599; 0 for 503.
	Status int
	// Body of the answer.
	Body string
}
