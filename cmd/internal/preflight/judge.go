package preflight

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/kyma-project/lifecycle-manager/internal/fleet/clusters"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
	"github.com/kyma-project/lifecycle-manager/internal/platform/hint"
	"github.com/kyma-project/lifecycle-manager/internal/platform/kick"
	"github.com/kyma-project/lifecycle-manager/internal/registry/artifacts"
)

const (
	// minAPIServer is the first version that checks all rules of our CustomResourceDefinitions.
	minAPIServer = "1.29"
	// minTemporal is the oldest version of Temporal's server that the tests run with.
	minTemporal = "1.29"
	// skewWarned and skewFailed are limits for differences between clocks. A leader counts as missing after 25 s
	// without a status.
	skewWarned, skewFailed = 5 * time.Second, 20 * time.Second
	// mostOfAKind is how many findings of a kind are listed individually.
	mostOfAKind = 20
)

// Judge returns the findings for the facts, in the order in which an installation is set up. It makes no requests.
func Judge(facts Facts) []Finding {
	findings := []Finding{judgeAPIServer(facts)}
	if facts.APIServerErr == nil {
		findings = append(findings, judgeSkew(facts), judgeSettings(facts.Settings))
		findings = append(findings, judgeRights(facts.Rights)...)
		findings = append(findings, judgeDefinitions(facts.Published, facts.PublishedErr)...)
		findings = append(findings, judgeKinds(facts.Kinds)...)
	}
	findings = append(findings, judgeTemporal(facts.Temporal)...)
	findings = append(findings, judgeRegistry(facts.Registry))
	if facts.APIServerErr == nil {
		findings = append(findings, judgeAccess(facts.Access, facts.AccessErr)...)
		findings = append(findings, judgeExpiry(facts.Access, facts.Now)...)
	}
	return findings
}

func judgeAPIServer(facts Facts) Finding {
	const subject = "API server"
	if facts.APIServerErr != nil {
		return bad(subject, "check --kubeconfig and --context, and that the address can be reached from here", "%s", facts.APIServerErr)
	}
	return judgeVersion(subject, facts.APIServer, minAPIServer)
}

func judgeVersion(subject, text, least string) Finding {
	parsed, err := version.ParseGeneric(text)
	if err != nil {
		return doubtful(subject, "", "the version %q cannot be parsed", text)
	}
	if parsed.LessThan(version.MustParseGeneric(least)) {
		return bad(subject, "upgrade it to "+least+" or later", "version %s is older than %s", text, least)
	}
	return good(subject, "version %s", text)
}

func judgeSettings(s SettingsFacts) Finding {
	const subject = "settings"
	switch {
	case apierrors.IsForbidden(s.Err):
		return doubtful(subject, "run the check as an account that may read the record, or give the flags that the pods have", "flags and their defaults are used: %s", s.Err)
	case s.Err != nil:
		return bad(subject, "give the flag that the message names", "%s", s.Err)
	case s.Record == "":
		return good(subject, "flags and their defaults are used, because the instance has recorded no settings yet")
	}
	return good(subject, "from ConfigMap %s, except for flags that are given", s.Record)
}

func judgeSkew(facts Facts) Finding {
	const subject, remedy = "clock", "synchronize the clocks (NTP)"
	off := facts.Skew.Abs().Round(time.Second)
	switch {
	case !facts.SkewKnown:
		return doubtful(subject, "", "the API server does not report its time")
	case off > skewFailed:
		return bad(subject, remedy, "this machine and the API server are %s apart", off)
	case off > skewWarned:
		return doubtful(subject, remedy, "this machine and the API server are %s apart", off)
	}
	return good(subject, "this machine and the API server agree")
}

func judgeRights(reviewed []ReviewedRight) []Finding {
	const subject = "rights"
	missing := map[string][]string{}
	var order []string
	unread := 0
	var unreadErr error
	for _, right := range reviewed {
		switch {
		case right.Err != nil:
			unread++
			unreadErr = right.Err
		case !right.Allowed:
			on := describeRight(right)
			if missing[on] == nil {
				order = append(order, on)
			}
			if !slices.Contains(missing[on], right.Asked.Verb) {
				missing[on] = append(missing[on], right.Asked.Verb)
			}
		}
	}
	var findings []Finding
	for i, on := range order {
		if i == mostOfAKind {
			findings = append(findings, bad(subject, "", "and %d more", len(order)-i))
			break
		}
		what, why, _ := strings.Cut(on, "\n")
		findings = append(findings, bad(subject, why, "missing: %s %s", strings.Join(missing[on], ", "), what))
	}
	if unread > 0 {
		findings = append(findings, doubtful(subject, "", "%d could not be checked: %s", unread, unreadErr))
	}
	if len(findings) == 0 {
		findings = append(findings, good(subject, "all %d are granted", len(reviewed)))
	}
	return findings
}

// describeRight describes a right. The second line gives the reason why it is needed.
func describeRight(right ReviewedRight) string {
	what := right.Asked.Resource
	if right.Asked.Subresource != "" {
		what += "/" + right.Asked.Subresource
	}
	if right.Asked.Group != "" {
		what += "." + right.Asked.Group
	}
	if right.Asked.Name != "" {
		what += " " + right.Asked.Name
	}
	if right.Asked.Namespace != "" {
		what += " in namespace " + right.Asked.Namespace
	}
	return what + "\n" + right.Why
}

func judgeTemporal(t TemporalFacts) []Finding {
	const subject = "Temporal"
	if t.Err != nil {
		return []Finding{bad(subject, "check TEMPORAL_ADDRESS and TEMPORAL_TLS_*, and that the address can be reached from here", "%s", t.Err)}
	}
	findings := judgeServer(t)
	namespace := judgeNamespace(t.Namespace, t.described)
	findings = append(findings, namespace)
	if namespace.Result == Failed {
		return findings
	}
	return append(findings, judgeAttributes(t), judgeOwner(t))
}

func judgeServer(t TemporalFacts) []Finding {
	const subject = "Temporal"
	if t.ClusterErr != nil {
		return []Finding{doubtful(subject, "", "%s answers, but does not report its version: %s", t.Address, t.ClusterErr)}
	}
	findings := []Finding{judgeVersion(subject, t.Cluster.GetServerVersion(), minTemporal)}
	store, shards := t.Cluster.GetPersistenceStore(), t.Cluster.GetHistoryShardCount()
	switch {
	case store == "":
	case store == "sqlite":
		findings = append(findings, doubtful("Temporal's database", "use PostgreSQL, MySQL or Cassandra for more than a trial", "SQLite with %d history shards", shards))
	case shards > 0 && shards < 4:
		findings = append(findings, doubtful("Temporal's database", "set up Temporal with 512 shards before it has data to keep, because the number cannot be changed later", "%s with %d history shards, which limits parallel work", store, shards))
	default:
		findings = append(findings, good("Temporal's database", "%s with %d history shards", store, shards))
	}
	return findings
}

func judgeAttributes(t TemporalFacts) Finding {
	const subject = "search attributes"
	switch {
	case t.AttributesErr != nil:
		return doubtful(subject, "", "cannot be listed: %s", t.AttributesErr)
	case len(t.WrongAttributes) > 0:
		return bad(subject, "give this instance a Temporal namespace of its own", "registered with another type: %s", listed(t.WrongAttributes))
	case len(t.MissingAttributes) > 0:
		command := "the start registers them; or run: temporal operator search-attribute create --namespace " + t.Namespace
		for _, name := range t.MissingAttributes {
			command += fmt.Sprintf(" --name %s --type %s", name, kick.TypeOf(name))
		}
		return doubtful(subject, command, "not registered yet: %s", listed(t.MissingAttributes))
	}
	return good(subject, "registered")
}

func judgeOwner(t TemporalFacts) Finding {
	const subject = "instance"
	switch {
	case t.OwnerErr != nil:
		return doubtful(subject, "", "%s", t.OwnerErr)
	case t.Owner == nil:
		return good(subject, "the Temporal namespace has no owner yet")
	case t.Own.ControlPlane == "":
		return doubtful(subject, "", "the Temporal namespace belongs to %s", t.Owner)
	case !t.Owner.Is(t.Own):
		owned := &OwnedError{Namespace: t.Namespace, Owner: *t.Owner, Since: t.OwnerSince}
		return bad(subject, owned.Remedy(), "%s", owned)
	}
	return good(subject, "the Temporal namespace belongs to this instance")
}

func judgeRegistry(r *RegistryFacts) Finding {
	const subject = "registry"
	if r == nil {
		return good(subject, "none is configured: component descriptors are in ModuleTemplates")
	}
	with := "anonymously"
	if r.Credentials != "" {
		with = "with the credentials of Secret " + r.Credentials
	}
	switch {
	case r.Host == "":
		return bad(subject, "the Secret must have one entry in auths of .dockerconfigjson, or one for the registry that --oci-registry-host names", "%s", r.Err)
	case r.Refused:
		return bad(subject, "renew the Secret that --oci-registry-cred-secret names", "%s refuses a request %s: %s", r.Host, with, r.Err)
	case r.Err != nil:
		return bad(subject, cmp.Or(artifacts.HintOf(r.Err), "check --oci-registry-ca-file and --oci-registry-plain-http, and that the registry can be reached from here"), "%s: %s", r.Host, r.Err)
	}
	return good(subject, "%s answers a request %s", r.Host, with)
}

func judgeAccess(access []AccessFacts, unread error) []Finding {
	const subject = "access Secrets"
	if unread != nil {
		return []Finding{bad(subject, "", "%s", unread)}
	}
	var findings []Finding
	failed := 0
	for _, each := range access {
		if each.Err == nil {
			continue
		}
		failed++
		if failed <= mostOfAKind {
			findings = append(findings, bad("access Secret "+each.Secret, hint.Of(each.Err), "%s", fault.Shorten(each.Err.Error(), fault.MaxMessage)))
		}
	}
	if failed > mostOfAKind {
		findings = append(findings, bad(subject, "", "and %d more", failed-mostOfAKind))
	}
	if answered := len(access) - failed; answered > 0 || failed == 0 {
		findings = append([]Finding{good(subject, "%d of %d lead to a cluster that answers", answered, len(access))}, findings...)
	}
	return findings
}

// judgeExpiry warns about valid credentials that should have been renewed by now.
func judgeExpiry(access []AccessFacts, now time.Time) []Finding {
	var findings []Finding
	expiring := 0
	for _, each := range access {
		if each.Err != nil || each.Validity.At(now) != clusters.ExpirySoon {
			continue
		}
		expiring++
		if expiring <= mostOfAKind {
			findings = append(findings, doubtful("access Secret "+each.Secret, "renew the Secret, or repair its rotation",
				"its %s expires at %s", each.Validity.Of, each.Validity.Until.UTC().Format(time.RFC3339)))
		}
	}
	if expiring > mostOfAKind {
		findings = append(findings, doubtful("access Secrets", "", "and %d more expire soon", expiring-mostOfAKind))
	}
	return findings
}
