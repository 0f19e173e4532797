package preflight

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/deploy/rights"
	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
)

const (
	// atOnce is how many requests of a kind are in flight.
	atOnce = 16
	// answerWithin bounds each request to a remote cluster, a registry or Temporal.
	answerWithin = 5 * time.Second
)

// Sources configure what a check reads.
type Sources struct {
	// Settings describes where the instance's settings come from.
	Settings SettingsFacts

	ControlPlane client.Client
	Discovery    discovery.DiscoveryInterface
	// ServerTime returns the time of the API server's last answer, zero if there was none. Now returns this machine's
	// time.
	ServerTime func() time.Time
	Now        func() time.Time

	// Rights are the rights that the instance needs, and Namespaces the namespaces of each scope of rights.
	Rights     []rights.Right
	Namespaces map[string][]string

	// Kinds are the kinds of other projects that the control plane must serve.
	Kinds []NeededKind

	// Dial connects to Temporal.
	Dial              func(ctx context.Context) (TemporalServer, error)
	Address, Temporal string
	// Instance is the name of the instance in its control plane. Release is the namespace of its record; empty if
	// unknown.
	Instance, Release string

	// Registry sends a request to the registry; nil if none is configured.
	Registry func(ctx context.Context) RegistryFacts

	// Clusters connects to remote clusters. AccessNamespaces are the namespaces of their access Secrets; none means
	// all.
	Clusters         *clusters.Registry
	AccessNamespaces []string
}

// TemporalServer holds the methods of a Temporal client that a check uses.
type TemporalServer interface {
	Temporal
	OperatorService() operatorservice.OperatorServiceClient
	Close()
}

// Collect reads all facts, each within its own timeout and all within ctx. A failed read is a fact as well.
func Collect(ctx context.Context, s Sources) Facts {
	facts := Facts{Now: s.Now(), Settings: s.Settings}
	version, err := s.Discovery.ServerVersion()
	if err != nil {
		facts.APIServerErr = fmt.Errorf("read the version of the API server: %w", err)
	} else {
		facts.APIServer = version.GitVersion
	}
	if said := s.ServerTime(); !said.IsZero() {
		facts.Skew, facts.SkewKnown = s.Now().Sub(said), true
	}
	var all sync.WaitGroup
	if facts.APIServerErr == nil {
		all.Go(func() { facts.Rights = s.reviewRights(ctx) })
		all.Go(func() { facts.Kinds = askForKinds(s.Kinds, s.Discovery) })
		all.Go(func() { facts.Published, facts.PublishedErr = ReadPublished(s.Discovery.OpenAPIV3()) })
		all.Go(func() { facts.Access, facts.AccessErr = s.tryAccess(ctx) })
	}
	all.Go(func() { facts.Temporal = s.askTemporal(ctx, facts.APIServerErr == nil) })
	if s.Registry != nil {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, answerWithin)
			defer cancel()
			asked := s.Registry(ctx)
			facts.Registry = &asked
		})
	}
	all.Wait()
	return facts
}

// asked returns the individual rights that the list of rights consists of.
func (s Sources) asked() []ReviewedRight {
	var all []ReviewedRight
	for _, right := range s.Rights {
		for _, namespace := range s.Namespaces[right.Scope] {
			for _, group := range right.APIGroups {
				for _, resource := range right.Resources {
					resource, subresource, _ := strings.Cut(resource, "/")
					names := right.ResourceNames
					if len(names) == 0 {
						names = []string{""}
					}
					for _, name := range names {
						for _, verb := range right.Verbs {
							all = append(all, ReviewedRight{Why: right.Why, Asked: authorizationv1.ResourceAttributes{
								Namespace: namespace, Group: group, Resource: resource, Subresource: subresource, Name: name, Verb: verb,
							}})
						}
					}
				}
			}
		}
	}
	return all
}

func (s Sources) reviewRights(ctx context.Context) []ReviewedRight {
	all := s.asked()
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i := range all {
		group.Go(func() error {
			review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &all[i].Asked}}
			all[i].Err = s.ControlPlane.Create(ctx, review)
			all[i].Allowed = review.Status.Allowed
			return nil
		})
	}
	_ = group.Wait()
	return all
}

func (s Sources) askTemporal(ctx context.Context, controlPlaneAnswers bool) TemporalFacts {
	t := TemporalFacts{Address: s.Address, Namespace: s.Temporal}
	ctx, cancel := context.WithTimeout(ctx, 3*answerWithin)
	defer cancel()
	server, err := s.Dial(ctx)
	if err != nil {
		t.Err = err
		return t
	}
	defer server.Close()
	t.Cluster, t.ClusterErr = server.WorkflowService().GetClusterInfo(ctx, &workflowservice.GetClusterInfoRequest{})
	t.described = describeNamespace(ctx, server, s.Temporal)
	known, err := server.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: s.Temporal})
	t.AttributesErr = err
	for _, name := range kick.SearchAttributes() {
		kind, exists := known.GetCustomAttributes()[name]
		switch {
		case !exists:
			t.MissingAttributes = append(t.MissingAttributes, name)
		case kind != kick.TypeOf(name):
			t.WrongAttributes = append(t.WrongAttributes, name)
		}
	}
	t.Owner, t.OwnerSince, t.OwnerErr = OwnerOf(ctx, server)
	if controlPlaneAnswers {
		if uid, err := clusters.UIDOf(ctx, s.ControlPlane); err == nil {
			t.Own = Owner{ControlPlane: string(uid), Instance: s.Instance, Namespace: s.Release}
		}
	}
	return t
}

// tryAccess sends a request with each access Secret.
func (s Sources) tryAccess(ctx context.Context) ([]AccessFacts, error) {
	namespaces := s.AccessNamespaces
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	var secrets []metav1.PartialObjectMetadata
	for _, namespace := range namespaces {
		page := &metav1.PartialObjectMetadataList{}
		page.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
		if err := s.ControlPlane.List(ctx, page, client.InNamespace(namespace), client.HasLabels{shared.LabelKymaName}); err != nil {
			return nil, fmt.Errorf("list access Secrets: %w", err)
		}
		secrets = append(secrets, page.Items...)
	}
	all := make([]AccessFacts, len(secrets))
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i := range secrets {
		group.Go(func() error {
			kyma := secrets[i].Labels[shared.LabelKymaName]
			all[i] = AccessFacts{Secret: client.ObjectKeyFromObject(&secrets[i]).String(), Kyma: kyma}
			all[i].Validity, all[i].Err = s.reach(ctx, secrets[i].Namespace, kyma)
			return nil
		})
	}
	_ = group.Wait()
	slices.SortFunc(all, func(a, b AccessFacts) int { return strings.Compare(a.Secret, b.Secret) })
	return all, nil
}

func (s Sources) reach(ctx context.Context, namespace, kyma string) (clusters.Validity, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	cluster, err := s.Clusters.ForKyma(ctx, namespace, kyma)
	if err != nil {
		return clusters.Validity{}, err
	}
	_, err = cluster.Identify(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within %s: %w", answerWithin, err)
	}
	return cluster.Validity, clusters.Classify(err)
}
