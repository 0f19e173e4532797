package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kyma-project/lifecycle-manager/api/shared"
	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// TestMain makes the test program a keeper where it is started as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == keepCommand {
		os.Exit(keep(os.Args[2:]))
	}
	os.Exit(m.Run())
}

func TestACommandCanBePastedIntoAShell(t *testing.T) {
	c := command{"printf", "%s|", "plain/word", `{"a":"b c"}`, "it's", ""}
	out, err := exec.Command("sh", "-c", c.String()).Output()
	require.NoError(t, err)
	require.Equal(t, `plain/word|{"a":"b c"}|it's||`, string(out))
}

func TestACommandThatFailsSaysWhatItSaid(t *testing.T) {
	_, err := command{"sh", "-c", "echo no such thing >&2; exit 3"}.output(context.Background())
	require.EqualError(t, err, "sh: exit status 3: no such thing")
}

func TestLinesOfAnotherProgramGetTheDemosClock(t *testing.T) {
	var out bytes.Buffer
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	s := newSpeaker(&out, func() time.Time { return now })
	now = now.Add(90 * time.Second)
	r := &relay{to: s}
	_, err := r.Write([]byte("   0.3s  the registry is ready\nall "))
	require.NoError(t, err)
	_, err = r.Write([]byte("is up\n"))
	require.NoError(t, err)
	require.Equal(t, "  90.0s    the registry is ready\n  90.0s    all is up\n", out.String())
}

func TestOneDemoAtATimeUsesAFolder(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lock(path)
	require.NoError(t, err)
	_, err = lock(path)
	require.ErrorContains(t, err, "another demo is running from this folder")
	unlock()
	unlock, err = lock(path)
	require.NoError(t, err)
	unlock()
}

func TestAKeptProgramEndsWithTheDemoHoweverThatEnds(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	k, err := keepRunning("sleeper", log, []string{"GREETING=hello"}, command{"sh", "-c", "echo $$ $GREETING; exec sleep 1000"})
	require.NoError(t, err)
	var pid int
	require.Eventually(t, func() bool {
		words := strings.Fields(lastLines(log, 1))
		if len(words) != 2 || words[1] != "hello" {
			return false
		}
		pid, err = strconv.Atoi(words[0])
		return err == nil
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, syscall.Kill(pid, 0))

	// What the system does when the demo is killed: its end of the pipe is closed.
	k.stop()
	require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH)
}

func TestTheEndOfAKeptProgramIsNoticedAndExplained(t *testing.T) {
	k, err := keepRunning("failing", filepath.Join(t.TempDir(), "log"), nil, command{"sh", "-c", "echo out of luck; exit 7"})
	require.NoError(t, err)
	select {
	case <-k.ended:
	case <-time.After(10 * time.Second):
		require.Fail(t, "the end was not noticed")
	}
	require.ErrorContains(t, k.failure(), "failing has ended (exit status 7)")
	require.ErrorContains(t, k.failure(), "out of luck")
	k.stop()
}

func TestTheLinkToAWorkflowKeepsTheSlashesOfItsID(t *testing.T) {
	d := &demo{}
	d.fleet.Temporal.UIURL, d.fleet.Temporal.Namespace = "http://127.0.0.1:8233", "default"
	require.Equal(t, "http://127.0.0.1:8233/namespaces/default/workflows/kyma%2Fkcp-system%2Fdemo%2F12-34", d.workflowURL("kyma", "demo", "12-34"))
}

func TestATableIsPrintedAsKubectlPrintsIt(t *testing.T) {
	row := func(namespace string, cells ...any) metav1.TableRow {
		return metav1.TableRow{Cells: cells, Object: runtime.RawExtension{Raw: []byte(`{"metadata":{"namespace":"` + namespace + `"}}`)}}
	}
	text, err := format(metav1.Table{
		ColumnDefinitions: []metav1.TableColumnDefinition{{Name: "Name"}, {Name: "Ready"}, {Name: "Selector", Priority: 1}, {Name: "Age"}},
		Rows:              []metav1.TableRow{row("kyma-system", "sample-operator", "1/1", "app=sample", "5s"), row("keda", "keda", "0/1", "app=keda", nil)},
	})
	require.NoError(t, err)
	require.Equal(t, `NAMESPACE     NAME              READY   AGE
kyma-system   sample-operator   1/1     5s
keda          keda              0/1     
`, text)
}

func TestAModuleIsFoundByItsName(t *testing.T) {
	kyma := &v1beta2.Kyma{Status: v1beta2.KymaStatus{Modules: []v1beta2.ModuleStatus{{Name: "one"}, {Name: "two", State: shared.StateError}}}}
	two, found := module(kyma, "two")
	require.True(t, found)
	require.Equal(t, shared.StateError, two.State)
	_, found = module(kyma, "three")
	require.False(t, found)
}
