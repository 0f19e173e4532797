package status

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kyma-project/lifecycle-manager/internal/platform/fault"
)

// An activity that the previous release scheduled has its input in that release's encoding.
func TestAnInputOfEarlierReleasesIsReadAndWrittenTheSame(t *testing.T) {
	const recorded = `{"ref":{"namespace":"n","name":"k","uid":"u"},"inputsDigest":"d",
		"sync":{"kind":"Unreachable","reason":"S","message":"s"},"definitions":{"kind":"Rejected","reason":"D","message":"d"},
		"catalog":{"kind":"Transient","reason":"C","message":"c"},"invalid":{"kind":"Rejected","reason":"I","message":"i"},
		"templates":{"kind":"Transient","reason":"T","message":"t"},"refused":{"keda":"why"},
		"pullSecret":{"kind":"Rejected","reason":"P","message":"p"},"move":{"kind":"Rejected","reason":"M","message":"m"},
		"synced":true,"resolve":{"kind":"Rejected","reason":"R","message":"r"},"push":true,"waiting":"w"}`
	var read ReportInput
	require.NoError(t, json.Unmarshal([]byte(recorded), &read))
	require.Equal(t, fault.Parts{
		fault.PartSync:        {Kind: fault.Unreachable, Reason: "S", Message: "s"},
		fault.PartDefinitions: {Kind: fault.Rejected, Reason: "D", Message: "d"},
		fault.PartCatalog:     {Kind: fault.Transient, Reason: "C", Message: "c"},
		fault.PartInvalid:     {Kind: fault.Rejected, Reason: "I", Message: "i"},
		fault.PartTemplates:   {Kind: fault.Transient, Reason: "T", Message: "t"},
		fault.PartPullSecret:  {Kind: fault.Rejected, Reason: "P", Message: "p"},
		fault.PartMove:        {Kind: fault.Rejected, Reason: "M", Message: "m"},
		fault.PartResolve:     {Kind: fault.Rejected, Reason: "R", Message: "r"},
	}, read.Faults)
	require.Equal(t, "k", read.Ref.Name)
	require.Equal(t, map[string]string{"keda": "why"}, read.Refused)
	require.True(t, read.Synced && read.Push)
	written, err := json.Marshal(read)
	require.NoError(t, err)
	require.JSONEq(t, recorded, string(written))
}
