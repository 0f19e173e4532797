package bundle

// Failure is an object that could not be applied.
type Failure struct {
	// object is "Kind namespace/name".
	Object  string
	Message string
	// passing is true when it may work the next time.
	Retryable bool
	// missing is the kind that the cluster does not know, if that is why.
	Missing string
	// hook is true when it is about how a chart's hook runs, and not about applying something.
	Hook bool
}

func (f Failure) String() string {
	if f.Missing != "" {
		return f.Object + ": the cluster does not know " + f.Missing
	}
	return f.Object + ": " + f.Message
}
