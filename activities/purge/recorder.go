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

// Reasons of Events on a Kyma that is purged.
const (
	// EventPurged: an object was forced. There is one Event for each.
	EventPurged = "Purged"
	// EventAbandoned: something could not be reached, and was abandoned.
	EventAbandoned = "PurgeAbandoned"
)

// Object is an object that is forced.
type Object struct {
	Kind, Namespace, Name string
	UID                   types.UID
	// Finalizers are those that are taken off; none when the object is deleted only without the consent of its user.
	Finalizers []string
	// In names the cluster, such as "the remote cluster".
	In string
}

// String is kind, namespace and name, for messages to people.
func (o Object) String() string {
	return objects.Describe(o.Kind, types.NamespacedName{Namespace: o.Namespace, Name: o.Name})
}

// describe says what is done to the object.
func (o Object) describe() string {
	what := "is deleted"
	if len(o.Finalizers) > 0 {
		what = "loses its finalizers " + strings.Join(o.Finalizers, ", ")
	}
	return fmt.Sprintf("%s in %s %s", o, o.In, what)
}

// Counter counts forced objects. It is the only thing a Recorder knows of metrics.
type Counter interface {
	ObjectPurged()
}

// Recorder says which objects are forced: by an Event on the Kyma, a line in the log, and a metric.
type Recorder struct {
	// ControlPlane writes Events.
	ControlPlane client.Client
	// Counter may be nil.
	Counter Counter
	// Log is for those who run the instance.
	Log logr.Logger
	// Now is the clock of Events.
	Now func() time.Time
}

// NewRecorder returns a Recorder that writes Events; counter and log may be set afterwards.
func NewRecorder(controlPlane client.Client) *Recorder {
	return &Recorder{ControlPlane: controlPlane, Log: logr.Discard(), Now: time.Now}
}

// RecordIntent writes the Event before an object is forced, so that no death in between makes a forced object that
// has no Event. There is one Event for each object, however often it is attempted: its name says which.
func (r *Recorder) RecordIntent(ctx context.Context, kyma kick.Ref, o Object) error {
	return r.event(ctx, kyma, EventPurged, o.describe(), o.Kind, o.Namespace, o.Name, string(o.UID))
}

// Abandon writes the Event that says what could not be reached.
func (r *Recorder) Abandon(ctx context.Context, kyma kick.Ref, message string) error {
	return r.AbandonObjects(ctx, kyma, message, nil)
}

// AbandonObjects writes the Event that says what could not be reached, and which objects are left there: as many of them
// as fit, while the log has them all.
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
	// maxNamed is how many objects are named to people at most.
	maxNamed = 20
	// loggedObjects is how many objects one line of the log names, because there may be thousands and what collects
	// lines cuts long ones.
	loggedObjects = 50
)

// NameObjects is such as `; 3 objects: ConfigMap a/b, Secret a/c and 1 more`, in at most so many bytes; empty when
// there are none, or not even their number fits.
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

// Done counts and logs an object that was forced.
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

// eventName depends on the Kyma and on what the Event is about alone.
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
