package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	temporallog "go.temporal.io/sdk/log"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kyma-project/lifecycle-manager/internal/platform/logkey"
)

// logged returns the one line, without the fields that show when and where it was logged.
func logged(t *testing.T, out *bytes.Buffer) map[string]any {
	t.Helper()
	line := map[string]any{}
	require.NoError(t, json.Unmarshal(out.Bytes(), &line), out.String())
	require.Regexp(t, `^\d{4}-\d\d-\d\dT[\d:.]{12}Z$`, line["ts"])
	delete(line, "ts")
	delete(line, "caller")
	return line
}

func TestLinesOfTheTemporalSDKHaveTheKeysOfOurs(t *testing.T) {
	var out bytes.Buffer
	log, err := NewLog("info", LogJSON, &out)
	require.NoError(t, err)
	sdk := temporallog.With(TemporalLog(log.WithName("temporal")),
		"Namespace", "lm", "WorkflowType", "KymaWorkflow", "WorkflowID", "kyma/kcp-system/demo/uid", "RunID", "run")
	sdk.Error("Activity error.", "ActivityType", "ApplyManifest", "Attempt", 2, "Error", errors.New("no route to host"))
	require.Equal(t, map[string]any{
		"level": "error", "logger": "temporal", "msg": "Activity error.",
		"temporalNamespace": "lm", "workflow": "KymaWorkflow", "workflowID": "kyma/kcp-system/demo/uid", "runID": "run",
		"kyma": "kcp-system/demo", "activity": "ApplyManifest", "attempt": 2.0, "error": "no route to host",
	}, logged(t, &out))
}

func TestLinesOfOtherLibrariesHaveTheKeysOfOurs(t *testing.T) {
	var out bytes.Buffer
	log, err := NewLog("info", LogJSON, &out)
	require.NoError(t, err)
	log.Info("Starting workers", "controller", "kyma", "worker count", 8, logkey.WorkflowID, "sweep/03")
	require.Equal(t, map[string]any{
		"level": "info", "msg": "Starting workers", "controller": "kyma", "workerCount": 8.0, "workflowID": "sweep/03",
	}, logged(t, &out))
}

func TestALineNamesItsKymaOnce(t *testing.T) {
	var out bytes.Buffer
	log, err := NewLog("info", LogJSON, &out)
	require.NoError(t, err)
	log.Info("purge: forced", logkey.Kyma, "kcp-system/demo", logkey.WorkflowID, "kyma/kcp-system/demo/uid")
	require.Equal(t, 1, strings.Count(out.String(), `"kyma":`))
}

func TestLosingARaceWithAnotherProcessIsNoError(t *testing.T) {
	outrun := apierrors.NewAlreadyExists(schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}, "lifecycle-manager")
	for name, test := range map[string]struct {
		logger, level, says string
		err                 error
	}{
		"the Lease is there already":               {"leaderelection", "info", "cannot create it", outrun},
		"the certificate was just made":            {"cert-rotation", "info", "could not refresh CA and server certs", apierrors.NewConflict(schema.GroupResource{Resource: "secrets"}, "tls", errors.New("modified"))},
		"the Lease cannot be made":                 {"leaderelection", "error", "cannot create it", errors.New("no route to host")},
		"the certificate is not in the Secret yet": {"cert-rotation", "info", "secret is not well-formed, cannot update webhook configurations", errors.New("missing ca.crt")},
		"of other libraries, the error may last":   {"controller", "error", "cannot create it", outrun},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			log, err := NewLog("info", LogJSON, &out)
			require.NoError(t, err)
			log.WithName(test.logger).Error(test.err, test.says)
			line := logged(t, &out)
			require.Equal(t, test.level, line["level"])
			require.Equal(t, test.err.Error(), line["error"])
		})
	}
}

func TestLogsMayBeForPeople(t *testing.T) {
	var out bytes.Buffer
	log, err := NewLog("error", LogText, &out)
	require.NoError(t, err)
	log.Info("not at this level")
	log.Error(errors.New("no route to host"), "no work can be done", logkey.TaskQueue, "q")
	require.Regexp(t, `^\S+Z ERROR \S+ no work can be done \{"taskQueue": "q", "error": "no route to host"\}\n$`, out.String())
	_, err = NewLog("info", "xml", &out)
	require.ErrorContains(t, err, "--log-format must be json or text")
	_, err = NewLog("loud", LogText, &out)
	require.ErrorContains(t, err, "--log-level")
}
