package conformance_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// normalizer makes the answers of two clusters comparable: what differs from one real cluster to another, and from one
// run to the next, becomes the same text. Values are numbered by when they were first seen in the scenario, so that it
// still shows which are the same.
type normalizer struct {
	namespace string
	tokens    map[string]string
	// versions are, by uid, those in which objects were seen last. Where it is not nil, a resourceVersion says only whether
	// the object has changed since: a controller of a real cluster may take more steps than one here.
	versions map[string]string
}

var (
	timestamps = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	uids       = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	addresses  = regexp.MustCompile(`\b(10|127)\.\d+\.\d+\.\d+\b`)
	inRecord   = regexp.MustCompile(`ResourceVersion in record \(\d+\)`)
	hashes     = regexp.MustCompile(`("storageVersionHash": )"[^"]+"`)
	generated  = regexp.MustCompile(`\bgen-[a-z0-9]{5}\b`)
)

// clone is a normalizer that has seen the same, for an answer that may not be the last one.
func (n *normalizer) clone() normalizer {
	return normalizer{n.namespace, maps.Clone(n.tokens), maps.Clone(n.versions)}
}

func (n *normalizer) text(a answer) string {
	head := fmt.Sprintf("%d %s\n", a.code, strings.Split(a.header.Get("Content-Type"), ";")[0])
	for _, warning := range a.header.Values("Warning") {
		head += "Warning: " + warning + "\n"
	}
	body := string(a.body)
	var object map[string]any
	if json.Unmarshal(a.body, &object) == nil {
		n.object(object)
		encoded, _ := json.MarshalIndent(object, "", " ")
		body = string(encoded)
	}
	body = strings.ReplaceAll(body, n.namespace, "NS")
	body = timestamps.ReplaceAllString(body, "TIME")
	body = uids.ReplaceAllStringFunc(body, func(uid string) string { return n.token("UID", uid) })
	body = addresses.ReplaceAllString(body, "ADDRESS")
	body = inRecord.ReplaceAllString(body, "ResourceVersion in record (VERSION)")
	// The group's name is in it, which is another one each time.
	body = hashes.ReplaceAllString(body, `$1"HASH"`)
	body = generated.ReplaceAllString(body, "gen-NAME")
	return head + body
}

func (n *normalizer) token(kind, value string) string {
	key := kind + value
	if n.tokens[key] == "" {
		n.tokens[key] = fmt.Sprintf("%s-%d", kind, len(n.tokens))
	}
	return n.tokens[key]
}

func (n *normalizer) object(object map[string]any) {
	metadata, _ := object["metadata"].(map[string]any)
	items, _ := object["items"].([]any)
	// A list of nothing may be null.
	if _, isList := object["items"]; isList {
		// Others write at the same time.
		delete(metadata, "resourceVersion")
		if metadata["continue"] != nil {
			metadata["continue"] = "CONTINUE"
		}
	}
	listed, _ := object["kind"].(string)
	for _, item := range items {
		if one, ok := item.(map[string]any); ok {
			if one["kind"] == nil {
				// A list of a built-in kind says it once.
				one["kind"] = strings.TrimSuffix(listed, "List")
			}
			n.object(one)
		}
	}
	if version, ok := metadata["resourceVersion"].(string); ok {
		metadata["resourceVersion"] = n.version(metadata["uid"], version)
	}
	n.deliberate(object, metadata)
}

func (n *normalizer) version(uid any, version string) string {
	object, _ := uid.(string)
	if n.versions == nil || object == "" {
		return n.token("VERSION", version)
	}
	former := n.versions[object]
	n.versions[object] = version
	switch former {
	case "":
		return "FIRST"
	case version:
		return "THE SAME"
	}
	return "ANOTHER"
}

// deliberate takes out what a fake cluster does differently on purpose.
func (n *normalizer) deliberate(object, metadata map[string]any) {
	// The Deployment controller of a real cluster notes the revision of its ReplicaSets. Here are none.
	if annotations, ok := metadata["annotations"].(map[string]any); ok {
		delete(annotations, "deployment.kubernetes.io/revision")
		if len(annotations) == 0 {
			delete(metadata, "annotations")
		}
	}
	// So it is one more manager, or has more fields.
	if managed, ok := metadata["managedFields"].([]any); ok {
		managed = slices.DeleteFunc(managed, func(entry any) bool {
			e, _ := entry.(map[string]any)
			return e["manager"] == "kube-controller-manager"
		})
		// They are sorted by time, in whole seconds, and then by name.
		slices.SortFunc(managed, func(a, b any) int { return strings.Compare(withoutTime(a), withoutTime(b)) })
		metadata["managedFields"] = managed
	}
	status, _ := object["status"].(map[string]any)
	switch object["kind"] {
	case "Deployment":
		if status != nil {
			n.deploymentStatus(status)
		}
	case "SelfSubjectReview":
		// It is another user's certificate or token.
		delete(status, "userInfo")
	case "APIResourceList":
		// In which order a server learned of kinds is chance.
		sortByText(object["resources"])
	}
}

func sortByText(list any) {
	entries, _ := list.([]any)
	slices.SortFunc(entries, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
}

// deploymentStatus keeps what clients read: the order of conditions, their times and texts, and counts that a real
// controller adds, differ, and the reason for progress as a new ReplicaSet is there or not.
func (n *normalizer) deploymentStatus(status map[string]any) {
	delete(status, "terminatingReplicas")
	conditions, _ := status["conditions"].([]any)
	var kept []string
	for _, condition := range conditions {
		c, _ := condition.(map[string]any)
		kept = append(kept, fmt.Sprintf("%v=%v", c["type"], c["status"]))
	}
	slices.Sort(kept)
	status["conditions"] = kept
}

func withoutTime(entry any) string {
	e, _ := entry.(map[string]any)
	return fmt.Sprint(e["manager"], e["operation"], e["subresource"], e["apiVersion"], e["fieldsV1"])
}
