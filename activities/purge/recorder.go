package purge

import (
	"context"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/modules/objects"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/platform/logkey"
)

// Reasons of Events on a Kyma that is being purged.
const (
	// EventPurged: an object was forced. Each forced object gets one Event.
	EventPurged = "Purged"
	// EventAbandoned: some objects could not be reached and were abandoned.
	EventAbandoned = "PurgeAbandoned"
)

// Object is an object that a purge forces.
type Object struct {
	Kind, Namespace, Name string
	UID                   types.UID
	// Finalizers are the finalizers that are removed. They are empty if a user's object is only deleted.
	Finalizers []string
	// In names the cluster, for example "the remote cluster".
	In string
}

// String returns kind, namespace and name for messages.
func (o Object) String() string {
	return objects.Describe(o.Kind, types.NamespacedName{Namespace: o.Namespace, Name: o.Name})
}

// describe says what the purge does to the object.
func (o Object) describe() string {
	what := "is deleted"
	if len(o.Finalizers) > 0 {
		what = "loses its finalizers " + strings.Join(o.Finalizers, ", ")
	}
	return fmt.Sprintf("%s in %s %s", o, o.In, what)
}

// Counter counts forced objects. It is all that a Recorder knows about metrics.
type Counter interface {
	ObjectPurged()
}

// Recorder records forced objects: as an Event on the Kyma, as a log line, and in a metric.
type Recorder struct {
	// ControlPlane is the client that writes Events.
	ControlPlane client.Client
	Counter      Counter
	// Log receives a line for each forced object and for abandoned objects.
	Log logr.Logger
	// Now is the clock for Events.
	Now func() time.Time
}

// NewRecorder returns a Recorder that writes Events. Set Counter and Log afterwards if needed.
func NewRecorder(controlPlane client.Client) *Recorder {
	return &Recorder{ControlPlane: controlPlane, Log: logr.Discard(), Now: time.Now}
}

// RecordIntent writes the Event before an object is forced, so that a crash in between cannot leave a forced object
// without an Event. The Event's name is derived from the object, so repeated attempts share one Event.
func (r *Recorder) RecordIntent(ctx context.Context, kyma kick.Ref, o Object) error {
	return r.event(ctx, kyma, EventPurged, o.describe(), o.Kind, o.Namespace, o.Name, string(o.UID))
}

// Abandon writes the Event that says which cluster could not be reached.
func (r *Recorder) Abandon(ctx context.Context, kyma kick.Ref, message string) error {
	return r.AbandonObjects(ctx, kyma, message, nil)
}

// AbandonObjects writes the Event that says what could not be reached and which objects are left behind. The Event lists
// as many objects as fit; the log lists all of them.
func (r *Recorder) AbandonObjects(ctx context.Context, kyma kick.Ref, message string, abandoned []string) error {
	line := func(some []string) {
		r.Log.Info("purge: abandoned", logkey.Kyma, kyma.String(), logkey.WorkflowID, kick.KymaWorkflowID(kyma), logkey.Message, message, logkey.Objects, some)
	}
	if len(abandoned) == 0 {
		line(nil)
	}
	for some := range slices.Chunk(abandoned, loggedObjects) {
		line(some)
	}
	return r.event(ctx, kyma, EventAbandoned, message+NameObjects(abandoned, fault.MaxMessage-len(message)), message)
}

const (
	// maxNamed is the maximum number of objects named in a message.
	maxNamed = 20
	// loggedObjects is the maximum number of objects in one log line. There may be thousands of objects, and log
	// collectors cut long lines.
	loggedObjects = 50
)

// NameObjects returns text like `; 3 objects: ConfigMap a/b, Secret a/c and 1 more`, at most the given number of bytes
// long. It returns "" if there are no objects, or if not even their number fits.
func NameObjects(all []string, most int) string {
	if len(all) == 0 {
		return ""
	}
	said := fmt.Sprintf("; %d objects", len(all))
	if len(all) == 1 {
		said = "; 1 object"
	}
	if len(said) > most {
		return ""
	}
	for named := min(len(all), maxNamed); named > 0; named-- {
		with := said + ": " + strings.Join(all[:named], ", ")
		if more := len(all) - named; more > 0 {
			with += fmt.Sprintf(" and %d more", more)
		}
		if len(with) <= most {
			return with
		}
	}
	return said
}

// Done counts and logs a forced object.
func (r *Recorder) Done(kyma kick.Ref, o Object) {
	if r.Counter != nil {
		r.Counter.ObjectPurged()
	}
	r.Log.Info("purge: forced", logkey.Kyma, kyma.String(), logkey.WorkflowID, kick.KymaWorkflowID(kyma), logkey.Kind, o.Kind, logkey.Namespace, o.Namespace, logkey.Name, o.Name, logkey.Finalizers, o.Finalizers)
}

func (r *Recorder) event(ctx context.Context, kyma kick.Ref, reason, message string, about ...string) error {
	now := metav1.NewTime(r.Now())
	event := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: kyma.Namespace, Name: eventName(kyma, append(about, reason))},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: v1beta2.GroupVersion.String(), Kind: shared.KindKyma,
			Namespace: kyma.Namespace, Name: kyma.Name, UID: kyma.UID,
		},
		Type: corev1.EventTypeWarning, Reason: reason, Message: fault.Message(message),
		Source:         corev1.EventSource{Component: shared.FieldManagerLifecycleManager},
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
	}
	if err := r.ControlPlane.Create(ctx, event); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("write the Event %s on Kyma %s: %w", reason, kyma, err)
	}
	return nil
}

// eventName depends only on the Kyma and on the subject of the Event.
func eventName(kyma kick.Ref, about []string) string {
	hash := fnv.New64a()
	// A hash.Hash never returns an error from Write.
	_, _ = hash.Write([]byte(string(kyma.UID) + "\x00" + strings.Join(about, "\x00")))
	name := kyma.Name
	const maxName = 230
	if len(name) > maxName {
		name = strings.TrimRight(name[:maxName], "-.")
	}
	return name + "." + hex.EncodeToString(hash.Sum(nil))
}
