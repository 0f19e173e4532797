package bundle

// Failure is an object that could not be applied.
type Failure struct {
	// Object is "Kind namespace/name".
	Object  string
	Message string
	// Retryable is true when the next attempt may succeed.
	Retryable bool
	// Missing is the kind that the cluster does not know, if that is the cause.
	Missing string
	// Reason, if set, is why the object was refused, as far as there is something of its own to be done about it: it has a
	// row in docs/reasons.md.
	Reason string
	// Hook is true when a chart's hook failed while it ran, and not something that was applied.
	Hook bool
}

// String is the failure as a message says it.
func (f Failure) String() string {
	if f.Missing != "" {
		return f.Object + ": the cluster does not know " + f.Missing
	}
	return f.Object + ": " + f.Message
}
