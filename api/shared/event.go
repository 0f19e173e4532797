package shared

// RemoteEvent is the body of an agent's report to the listener. It names the
// object that changed, but never its content. The JSON names are those of agents
// of the earlier generation.
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

// Limits and header names of an agent's requests to the listener.
const (
	// MaxEventBytes is the maximum size of an event's body.
	MaxEventBytes = 16384
	// MaxCertificateHeaderBytes is the maximum size of HeaderClientCertificate.
	MaxCertificateHeaderBytes = 32 << 10
	// HeaderClientCertificate is the header in which a gateway passes the
	// client's certificate on.
	HeaderClientCertificate = "X-Forwarded-Client-Cert"
)

// EventPath returns the path at which the listener accepts events for a manager.
func EventPath(manager string) string { return "/v2/" + manager + "/event" }

// EventPathV1 returns the path for agents of the first generation.
func EventPathV1(manager string) string { return "/v1/" + manager + "/event" }

// ValidatePath returns the path of the agent's admission webhook for the objects
// that a manager watches.
func ValidatePath(manager string) string { return "/validate/" + manager }
