package sync

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/internal/model/desired"
	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// Field names are in histories and carries, and must never change.
func TestTheFaultsOfAResultAreEncodedBesideItsOtherFields(t *testing.T) {
	const recorded = `{"outcome":"Synced","cluster":"c","acceptedChange":true,"catalogOff":true,
		"definitions":{"kind":"Rejected","reason":"D","message":"d"},"catalog":{"kind":"Transient","reason":"C","message":"c","hint":"h","slowRetry":true},
		"invalid":{"kind":"Rejected","reason":"I","message":"i"},"refused":{"keda":"why"},
		"imported":[{"kind":"ModuleTemplate","namespace":"n","name":"a","resourceVersion":"1"}],
		"templates":{"kind":"Transient","reason":"T","message":"t"},"pullSecret":{"kind":"Rejected","reason":"P","message":"p"},
		"move":{"kind":"Rejected","reason":"M","message":"m"},"forced":["x"],"fault":{"kind":"Transient","reason":"F","message":"f"},"writes":3}`
	var read Result
	require.NoError(t, json.Unmarshal([]byte(recorded), &read))
	require.Equal(t, Result{
		Outcome: OutcomeSynced, Cluster: "c", AcceptedChange: true, CatalogOff: true,
		Faults: fault.Parts{
			fault.PartDefinitions: {Kind: fault.Rejected, Reason: "D", Message: "d"},
			fault.PartCatalog:     {Kind: fault.Transient, Reason: "C", Message: "c", Hint: "h", SlowRetry: true},
			fault.PartInvalid:     {Kind: fault.Rejected, Reason: "I", Message: "i"},
			fault.PartTemplates:   {Kind: fault.Transient, Reason: "T", Message: "t"},
			fault.PartPullSecret:  {Kind: fault.Rejected, Reason: "P", Message: "p"},
			fault.PartMove:        {Kind: fault.Rejected, Reason: "M", Message: "m"},
		},
		Refused:  map[string]string{"keda": "why"},
		Imported: []desired.Seen{{Kind: "ModuleTemplate", Namespace: "n", Name: "a", ResourceVersion: "1"}},
		Forced:   []string{"x"}, Fault: fault.Fault{Kind: fault.Transient, Reason: "F", Message: "f"}, Writes: 3,
	}, read)
	written, err := json.Marshal(read)
	require.NoError(t, err)
	require.JSONEq(t, recorded, string(written))
}

func TestAResultWithoutFaultsIsEncodedWithoutThem(t *testing.T) {
	written, err := json.Marshal(Result{Outcome: OutcomeSynced})
	require.NoError(t, err)
	require.JSONEq(t, `{"outcome":"Synced","writes":0}`, string(written))
	var read Result
	require.NoError(t, json.Unmarshal(written, &read))
	require.Equal(t, Result{Outcome: OutcomeSynced}, read)
}
