package bundle

// Failure describes an object that could not be applied.
type Failure struct {
	// Object is "Kind namespace/name".
	Object  string
	Message string
	// Retryable is true if the next attempt may succeed.
	Retryable bool
	// Missing is the kind that the cluster does not serve, if that is the cause.
	Missing string
	// Reason is why the object was refused, if there is a specific remedy. Each Reason has a row in docs/reasons.md.
	// It is empty otherwise.
	Reason string
	// Hook is true if a chart's hook failed while it ran, and false if an object could not be applied.
	Hook bool
}

// String returns the failure as messages show it.
func (f Failure) String() string {
	if f.Missing != "" {
		return f.Object + ": the cluster does not serve " + f.Missing
	}
	return f.Object + ": " + f.Message
}
