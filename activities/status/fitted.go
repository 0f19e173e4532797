package status

import (
	"encoding/json"

	"github.com/kyma-project/lifecycle-manager/activities/fault"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

const (
	// maxRowsBytes is how large status.modules is, as JSON, before more is left out. With all else that a status has it stays
	// below 1 MiB, as etcd takes 1.5 MiB for a Kyma (docs/scale.md#how-large-objects-can-get).
	maxRowsBytes = 576 << 10
	// fewRows is how many rows fit with texts of the greatest length, whatever they consist of.
	fewRows = 24
	// maxName is how many bytes the names in a row have at most. Valid ones are not longer.
	maxName = 255
)

// fitted bounds the rows of a status. Each text is at most as long as the message of a fault; with hundreds of rows it is
// shorter. If even short texts do not fit, references to templates and custom resources, hints and the deprecated fqdn are
// left out too.
func fitted(rows []v1beta2.ModuleStatus) []v1beta2.ModuleStatus {
	for i := range rows {
		row := &rows[i]
		for _, name := range []*string{&row.Name, &row.FQDN, &row.OCMComponentName, &row.Channel, &row.Version} {
			*name = fault.Shorten(*name, maxName)
		}
		if r := row.Resource; r != nil {
			for _, name := range []*string{&r.APIVersion, &r.Kind, &r.Metadata.Name, &r.Metadata.Namespace} {
				*name = fault.Shorten(*name, maxName)
			}
		}
	}
	for limit := fault.MaxMessage; limit >= fault.MaxMessage/32; limit /= 2 {
		for i := range rows {
			rows[i].Message, rows[i].Hint = fault.Shorten(rows[i].Message, limit), fault.Shorten(rows[i].Hint, limit)
		}
		if len(rows) <= fewRows || size(rows) <= maxRowsBytes {
			return rows
		}
	}
	for i := range rows {
		rows[i].Template, rows[i].Resource, rows[i].Hint, rows[i].FQDN = nil, nil, "", ""
	}
	return rows
}

// size is how large rows are as JSON, which escapes what texts of others may consist of.
func size(rows []v1beta2.ModuleStatus) int {
	encoded, err := json.Marshal(rows)
	if err != nil {
		return maxRowsBytes + 1
	}
	return len(encoded)
}
