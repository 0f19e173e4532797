package migration

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
	"github.com/kyma-project/lifecycle-manager/internal/fleet"
)

var (
	errWhich      = errors.New("name Kymas, or set --all")
	errNotAdopted = errors.New("the Kyma has not been taken over yet")
)

// annotationHeld distinguishes a label that hold has set from a label that an operator has set. adopt removes only the
// former.
const annotationHeld = shared.OperatorGroup + "/held-for-migration"

// held is a Kyma to hold, with its Manifests.
type held struct {
	kyma      *v1beta2.Kyma
	manifests []v1beta2.Manifest
}

// hold labels Kymas so that no instance works on them. It leaves Kymas that were taken over unchanged. It labels none
// if the rules for modules' states differ for one of the Kymas and no rule was given.
func (m *migration) hold(ctx context.Context, out io.Writer, names []string, all bool) error {
	if len(names) == 0 != all {
		return errWhich
	}
	kymas, err := m.kymas(ctx, names)
	if err != nil {
		return err
	}
	var chosen []held
	for i := range kymas {
		kyma := &kymas[i]
		known, err := fleet.Live(m.controlPlane).LiveManifests(ctx, kyma)
		if err != nil {
			return err
		}
		again := kyma.IsSkipReconciliation() && kyma.Annotations[annotationHeld] != "" && m.flags.stateRule != ""
		if kyma.IsSkipReconciliation() && !again || !isUpstreams(kyma, known.Own) {
			continue
		}
		chosen = append(chosen, held{kyma: kyma, manifests: known.Own})
	}
	if m.flags.stateRule == "" {
		if err := m.mustAgree(ctx, chosen); err != nil {
			return err
		}
	}
	for _, k := range chosen {
		kyma := k.kyma
		if err := m.mark(ctx, kyma, quoted(shared.ValueTrue), quoted(cmp.Or(m.flags.stateRule.String(), shared.ValueTrue))); err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "Kyma %s/%s: held\n", kyma.Namespace, kyma.Name); err != nil {
			return err
		}
	}
	return nil
}

// adopt removes the label if hold has set it, and waits until these Kymas are completely taken over.
func (m *migration) adopt(ctx context.Context, out io.Writer, names []string, timeout time.Duration) error {
	if err := m.upstreamRuns(ctx, time.Now()); err != nil {
		return err
	}
	kymas, err := m.kymas(ctx, names)
	if err != nil {
		return err
	}
	for i := range kymas {
		if err := m.mustFollow(ctx, &kymas[i]); err != nil {
			return err
		}
	}
	var released []*v1beta2.Kyma
	for i := range kymas {
		kyma := &kymas[i]
		if kyma.IsSkipReconciliation() && kyma.Annotations[annotationHeld] == "" {
			if _, err := fmt.Fprintf(out, "Kyma %s/%s: left alone, because hold did not set its label %s\n",
				kyma.Namespace, kyma.Name, shared.LabelSkipReconciliation); err != nil {
				return err
			}
			continue
		}
		if kyma.Annotations[annotationHeld] != "" {
			if err := m.mark(ctx, kyma, "null", "null"); err != nil {
				return err
			}
		}
		released = append(released, kyma)
	}
	if timeout <= 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for _, kyma := range released {
		if err := m.awaitAdopted(ctx, out, kyma); err != nil {
			return err
		}
	}
	return nil
}

func quoted(value string) string { return `"` + value + `"` }

// mark sets the label that keeps every instance from working on a Kyma, and the annotation that records that hold set
// the label, and for which rule. Both values are JSON; "null" removes them.
func (m *migration) mark(ctx context.Context, kyma *v1beta2.Kyma, label, annotation string) error {
	patch := fmt.Sprintf(`{"metadata":{"uid":%q,"labels":{%q:%s},"annotations":{%q:%s}}}`,
		kyma.UID, shared.LabelSkipReconciliation, label, annotationHeld, annotation)
	if err := m.controlPlane.Patch(ctx, kyma, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		return fmt.Errorf("label Kyma %s/%s: %w", kyma.Namespace, kyma.Name, err)
	}
	return nil
}

// awaitAdopted waits until a Kyma is completely taken over, and prints the Kyma's state.
func (m *migration) awaitAdopted(ctx context.Context, out io.Writer, kyma *v1beta2.Kyma) error {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		now := &v1beta2.Kyma{}
		err := m.controlPlane.Get(ctx, client.ObjectKeyFromObject(kyma), now)
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("read Kyma %s/%s: %w", kyma.Namespace, kyma.Name, err)
		}
		if err == nil {
			kyma = now
			known, err := fleet.Live(m.controlPlane).LiveManifests(ctx, kyma)
			if err != nil && ctx.Err() == nil {
				return err
			}
			if err == nil && !isUpstreams(kyma, known.Own) {
				_, err := fmt.Fprintf(out, "Kyma %s/%s: taken over, %s\n", kyma.Namespace, kyma.Name, kyma.Status.State)
				return err
			}
		}
		select {
		case <-ctx.Done():
			message := ""
			if operation := kyma.Status.LastOperation; operation != nil {
				message = operation.Operation
			}
			return fmt.Errorf("adopt Kyma %s/%s: %w: %s", kyma.Namespace, kyma.Name, errNotAdopted, message)
		case <-ticker.C:
		}
	}
}
