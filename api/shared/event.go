package shared

// RemoteEvent is the body of what an agent reports to the listener: which object
// changed, never what it changed to. The names of its fields are those that
// agents of the earlier generation use.
type RemoteEvent struct {
	Watched    WatchedObject `json:"watched"`
	WatchedGVK WatchedGVK    `json:"watchedGvk"`
}

// WatchedObject names an object in a remote cluster.
type WatchedObject struct {
	Namespace string `json:"Namespace"`
	Name      string `json:"Name"`
}

// WatchedGVK is the kind of an object in a remote cluster.
type WatchedGVK struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

// Limits and names of the requests of an agent to the listener.
const (
	// MaxEventBytes is the most bytes that the body of an event has.
	MaxEventBytes = 16384
	// MaxCertificateHeaderBytes is the most bytes of HeaderClientCertificate.
	MaxCertificateHeaderBytes = 32 << 10
	// HeaderClientCertificate has the client's certificate behind a gateway.
	HeaderClientCertificate = "X-Forwarded-Client-Cert"
)

// EventPath is where the listener takes the events for a manager.
func EventPath(manager string) string { return "/v2/" + manager + "/event" }

// EventPathV1 is the same for agents of the first generation.
func EventPathV1(manager string) string { return "/v1/" + manager + "/event" }

// ValidatePath is where an agent is asked about the objects that a manager watches.
func ValidatePath(manager string) string { return "/validate/" + manager }
