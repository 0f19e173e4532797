package forecast

import (
	"bufio"
	"bytes"
	"maps"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func bufferOf(content []byte) *bufio.Reader { return bufio.NewReader(bytes.NewReader(content)) }

// typesUID is the uid of an object that does not exist yet: it decides only about its place in rollouts.
func typesUID(object client.Object) types.UID {
	return types.UID("new/" + object.GetNamespace() + "/" + object.GetName())
}

// merged are the pairs of both, of which the later decide.
func merged(before, after map[string]string) map[string]string {
	all := maps.Clone(before)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, after)
	return all
}
