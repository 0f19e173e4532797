package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	temporal "go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kyma-project/lifecycle-manager/api/v1beta2"
)

// planted begins every secret of these tests. The suffix shows where the secret is.
const planted = "PLANTED9f2c61d0b7"

var ofInstance = map[string]string{"app.kubernetes.io/name": "lifecycle-manager"}

func kubeconfig(t *testing.T) []byte {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.CurrentContext = "c"
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: "https://remote.example.com"}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: planted + "-token", Username: "me", Password: planted + "-password", ClientKeyData: []byte(planted + "-key")}
	raw, err := clientcmd.Write(*config)
	require.NoError(t, err)
	return raw
}

func dockerConfig() string {
	login := base64.StdEncoding.EncodeToString([]byte("puller:" + planted + "-login:with-colon"))
	return `{"auths":{"registry.example.com":{"username":"puller","password":"` + planted + `-registry"},"other.example.com":{"auth":"` + login + `"}}}`
}

// objects returns objects with a secret wherever one can occur.
func objects(t *testing.T) []client.Object {
	t.Helper()
	at := func(name string, labels map[string]string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "kcp-system", Name: name, Labels: labels}
	}
	kyma := &v1beta2.Kyma{ObjectMeta: at("demo", nil)}
	kyma.Annotations = map[string]string{
		"example.com/api-token":                            planted + "-annotation",
		"kubectl.kubernetes.io/last-applied-configuration": `{"spec":"` + planted + `-applied"}`,
		"note": "asked with " + planted + "-token",
	}
	kyma.Status.LastOperation = &v1beta2.LastOperation{Operation: "the token " + planted + "-token was refused for kyma demo"}
	template := &v1beta2.ModuleTemplate{ObjectMeta: at("keda-1.0.0", nil)}
	require.NoError(t, json.Unmarshal([]byte(`{"data":{"apiVersion":"a/v1","kind":"Keda","metadata":{
		"name":"keda-default","namespace":"kyma-system","labels":{"of":"keda"},"annotations":{"hint":"`+planted+`-hint"}},
		"stringData":{"key":"`+planted+`-string"},"settings":[{"note":"`+planted+`-settings"}],"comment":"`+planted+`-comment","spec":{"password":"`+planted+`-data","note":"`+planted+`-note","replicas":2,"list":["`+planted+`-item"]}}}`), &template.Spec))
	deployment := &appsv1.Deployment{ObjectMeta: at("lifecycle-manager", ofInstance)}
	deployment.Spec.Template.Spec.Containers = []corev1.Container{{
		Name: "manager", Image: "registry.example.com/lifecycle-manager:1.0.0",
		Args: []string{"run", "--role=all", "--some-token=" + planted + "-argument"},
		Env: []corev1.EnvVar{
			{Name: "TEMPORAL_ADDRESS", Value: "temporal:7233"}, {Name: "SOMETHING", Value: planted + "-variable"},
			{Name: "TEMPORAL_API_KEY", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "temporal-access"}, Key: "key"}}},
		},
	}}
	pod := &corev1.Pod{ObjectMeta: at("lifecycle-manager-0", ofInstance)}
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "manager"}}
	access := &corev1.Secret{ObjectMeta: at("demo-access", map[string]string{"operator.kyma-project.io/kyma-name": "demo"}), Data: map[string][]byte{"config": kubeconfig(t)}}
	access.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": `{"data":"` + planted + `-copy"}`}
	unreadable := &corev1.Secret{ObjectMeta: at("odd-access", map[string]string{"operator.kyma-project.io/kyma-name": "odd"}), Data: map[string][]byte{"config": []byte("clusters: " + planted + "-unreadable")}}
	return []client.Object{
		kyma, template, deployment, pod, access, unreadable,
		&corev1.Secret{ObjectMeta: at("pull", nil), Data: map[string][]byte{corev1.DockerConfigJsonKey: []byte(dockerConfig())}},
		&corev1.Secret{ObjectMeta: at("injected", map[string]string{"operator.kyma-project.io/module-name": "deployer"}), Data: map[string][]byte{"password": []byte(planted + "-injected")}},
		&corev1.ConfigMap{ObjectMeta: at("lifecycle-manager-settings", nil), Data: map[string]string{"oci-registry-cred-secret": "pull", "mode": "control-plane"}},
		&corev1.Event{
			ObjectMeta: at("demo.1", nil), InvolvedObject: corev1.ObjectReference{Kind: "Kyma", Name: "demo"}, Reason: "Refused",
			Message: "base64 " + base64.StdEncoding.EncodeToString([]byte(planted+"-token")) + " and unreadable " + planted + "-unreadable",
		},
	}
}

// logOf returns a log with secrets in the forms that people and programs write.
func logOf() string {
	long := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte(planted+"-blob"), 8))
	return strings.Join([]string{
		`{"level":"error","msg":"pull sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","token":"` + planted + `-json"}`,
		`{"msg":"body {\"password\":\"` + planted + `-escaped\",\"user\":\"me\"} of kyma/kcp-system/a-very-long-name-of-a-kyma-that-somebody-chose-keda-1234567890/0a1b2c3d-0000-1111-2222-333344445555"}`,
		`client_secret=` + planted + `-form&x=1 password: ` + planted + `-yaml`,
		`Authorization: Bearer ` + planted + `-bearer`,
		`GET https://user:` + planted + `-url@registry.example.com/v2/`,
		"-----BEGIN RSA PRIVATE KEY-----\n" + planted + "-pem\n-----END RSA PRIVATE KEY-----",
		`{"pem":"-----BEGIN PRIVATE KEY-----\n` + planted + `-pem-in-json\n-----END PRIVATE KEY-----\n"}`,
		`jwt eyJhbGciOiJSUzI1NiJ9.` + planted + `.signature`,
		`registry said no to ` + planted + `-registry and to ` + planted + `-login:with-colon`,
		`the module deployer got ` + planted + `-injected`,
		`Temporal said no to ` + planted + `-api-key and ` + planted + `-header, signed by ` + planted + `0tls0key`,
		`kubeconfig ` + long,
		`last line of the log`,
	}, "\n")
}

// workflows is a Temporal with one open workflow, which has a failure in its history.
type workflows struct{ asked []string }

func (w *workflows) Close() {}

func (w *workflows) ListWorkflow(_ context.Context, request *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	w.asked = append(w.asked, request.GetQuery())
	if request.GetQuery() != `WorkflowType IN ("KymaWorkflow", "SweepWorkflow") AND ExecutionStatus IN ("Running", "Paused")` {
		return &workflowservice.ListWorkflowExecutionsResponse{}, nil
	}
	return &workflowservice.ListWorkflowExecutionsResponse{Executions: []*workflowpb.WorkflowExecutionInfo{{
		Execution: &commonpb.WorkflowExecution{WorkflowId: "kyma/kcp-system/demo/uid", RunId: "run-1"},
		Type:      &commonpb.WorkflowType{Name: "KymaWorkflow"}, Status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, HistoryLength: 7,
	}}}, nil
}

func (w *workflows) QueryWorkflow(context.Context, string, string, string, ...any) (converter.EncodedValue, error) {
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(map[string]string{"state": "Error", "message": planted + "-token"})
	return temporal.NewValue(payloads), err
}

func (w *workflows) GetWorkflowHistory(context.Context, string, string, bool, enumspb.HistoryEventFilterType) temporal.HistoryEventIterator {
	result, _ := converter.GetDefaultDataConverter().ToPayloads(map[string]string{"message": planted + "-password", "reason": "Refused"})
	binary, _ := converter.GetDefaultDataConverter().ToPayloads([]byte("x" + planted + "-password"))
	return &events{all: []*historypb.HistoryEvent{
		{EventId: 1, Attributes: &historypb.HistoryEvent_ActivityTaskFailedEventAttributes{ActivityTaskFailedEventAttributes: &historypb.ActivityTaskFailedEventAttributes{Failure: &failurepb.Failure{Message: "refused: " + planted + "-token"}}}},
		{EventId: 3, Attributes: &historypb.HistoryEvent_ActivityTaskCompletedEventAttributes{ActivityTaskCompletedEventAttributes: &historypb.ActivityTaskCompletedEventAttributes{Result: binary}}},
		{EventId: 2, Attributes: &historypb.HistoryEvent_ActivityTaskCompletedEventAttributes{ActivityTaskCompletedEventAttributes: &historypb.ActivityTaskCompletedEventAttributes{Result: result}}},
	}}
}

type events struct {
	all []*historypb.HistoryEvent
	at  int
}

func (e *events) HasNext() bool { return e.at < len(e.all) }

func (e *events) Next() (*historypb.HistoryEvent, error) {
	e.at++
	return e.all[e.at-1], nil
}

// environment returns variables that name a Temporal configuration file with secrets.
func environment(t *testing.T) []string {
	t.Helper()
	folder := t.TempDir()
	key, config := filepath.Join(folder, "tls.key"), filepath.Join(folder, "temporal.toml")
	require.NoError(t, os.WriteFile(key, []byte("-----BEGIN PRIVATE KEY-----\n"+planted+"0tls0key\n-----END PRIVATE KEY-----\n"), 0o600))
	require.NoError(t, os.WriteFile(config, []byte(`[profile.fleet]
api_key = "`+planted+`-api-key"
tls = { client_key_path = "`+key+`" }
grpc_meta = { "x-tenant" = "`+planted+`-header" }
`), 0o600))
	return []string{"TEMPORAL_CONFIG_FILE=" + config, "TEMPORAL_PROFILE=fleet"}
}

func newSources(t *testing.T) Sources {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, v1beta2.AddToScheme(scheme))
	metrics := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `lifecycle_mgr_kyma_state{kyma_name="demo",note="`+planted+`-token"} 1`)
	}))
	t.Cleanup(metrics.Close)
	pods := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/v1/namespaces/kcp-system/pods/lifecycle-manager-0/log":
			_, _ = io.WriteString(w, "a line of the pod with "+planted+"-password\n")
		case "/api/v1/namespaces/kcp-system/pods/http:lifecycle-manager-0:8080/proxy/metrics":
			_, _ = io.WriteString(w, "lifecycle_mgr_mandatory_modules 3\n")
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(pods.Close)
	core, err := kubernetes.NewForConfig(&rest.Config{Host: pods.URL})
	require.NoError(t, err)
	log := filepath.Join(t.TempDir(), "manager.log")
	require.NoError(t, os.WriteFile(log, []byte(logOf()), 0o600))
	return Sources{
		ControlPlane: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects(t)...).Build(),
		Core:         core, Release: "kcp-system", PodLabels: ofInstance,
		Settings:    types.NamespacedName{Namespace: "kcp-system", Name: "lifecycle-manager-settings"},
		Secrets:     []types.NamespacedName{{Namespace: "kcp-system", Name: "pull"}},
		Environment: environment(t), InjectingModules: []string{"deployer"},
		Temporal: func(context.Context) (Workflows, error) { return &workflows{}, nil },
		Metrics:  []string{strings.TrimPrefix(metrics.URL, "http://")}, Logs: []string{log},
		Check:   map[string]string{"message": "refused " + planted + "-api-key"},
		Version: "test", Now: time.Date(2026, 11, 24, 4, 0, 0, 0, time.UTC), Limits: DefaultLimits(),
	}
}

// unpacked returns the files of an archive by name.
func unpacked(t *testing.T, archive []byte) map[string]string {
	t.Helper()
	plain, err := gzip.NewReader(bytes.NewReader(archive))
	require.NoError(t, err)
	files := map[string]string{}
	for reader := tar.NewReader(plain); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		content, err := io.ReadAll(reader)
		require.NoError(t, err)
		name, inFolder := strings.CutPrefix(header.Name, "lifecycle-manager-20261124-040000/")
		require.True(t, inFolder, header.Name)
		files[name] = string(content)
	}
}

func written(t *testing.T, s Sources) map[string]string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, Write(t.Context(), &out, s))
	return unpacked(t, out.Bytes())
}

// requireNoSecret searches files for planted secrets, also in base64.
func requireNoSecret(t *testing.T, files map[string]string) {
	t.Helper()
	encoded := regexp.MustCompile(`[A-Za-z0-9+/]{16,}={0,2}`)
	for name, content := range files {
		require.NotContains(t, content, planted, name)
		require.NotContains(t, name, planted)
		for _, text := range encoded.FindAllString(content, -1) {
			decoded, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
			if err == nil {
				require.NotContains(t, string(decoded), planted, "%s, in base64", name)
			}
		}
	}
}

func TestAnArchiveIsCompleteAndHasNoSecret(t *testing.T) {
	files := written(t, newSources(t))
	requireNoSecret(t, files)
	for name, texts := range map[string][]string{
		"resources/kymas.json":           {`"name": "demo"`, "was refused for kyma demo"},
		"resources/moduletemplates.json": {"keda-default", `"namespace": "kyma-system"`, `"of": "keda"`, `"kind": "Keda"`, `"replicas": 2`, "REDACTED (22 characters)"},
		"resources/manifests.json":       {"[]"},
		"resources/deployments.json":     {"temporal:7233", "--role=all", "temporal-access", "--some-token=REDACTED"},
		"resources/pods.json":            {"lifecycle-manager-0"},
		"resources/events.json":          {`"reason": "Refused"`},
		"resources/settings.json":        {`"oci-registry-cred-secret": "pull"`},
		"resources/access-secrets.json":  {"demo-access", "odd-access"},
		"workflows/open.json":            {"kyma/kcp-system/demo/uid", `"state": "Error"`},
		"workflows/histories/kyma%2Fkcp-system%2Fdemo%2Fuid.run-1.json": {"refused: REDACTED", `"reason"`},
		"metrics/1.txt": {"lifecycle_mgr_kyma_state"},
		"check.json":    {"refused REDACTED"},
		"logs/manager.log": {
			"sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "last line of the log", "@registry.example.com/v2/",
			"kyma/kcp-system/a-very-long-name-of-a-kyma-that-somebody-chose-keda-1234567890/0a1b2c3d-0000-1111-2222-333344445555",
		},
		"logs/lifecycle-manager-0/manager.log": {"a line of the pod with REDACTED"},
		"metrics/lifecycle-manager-0.txt":      {"lifecycle_mgr_mandatory_modules 3"},
		"manifest.json":                        {`"version": "test"`, "logs/manager.log"},
	} {
		require.Contains(t, files, name)
		for _, text := range texts {
			require.Contains(t, files[name], text, name)
		}
	}
	for name, content := range files {
		if strings.HasSuffix(name, ".json") {
			require.True(t, json.Valid([]byte(content)), "%s is still JSON:\n%s", name, content)
		}
	}
}

// The archive must not contain what others do in the same Temporal namespace.
func TestOnlyWorkflowsOfAnInstanceAreListed(t *testing.T) {
	s, asked := newSources(t), &workflows{}
	s.Temporal = func(context.Context) (Workflows, error) { return asked, nil }
	written(t, s)
	require.Len(t, asked.asked, 3)
	for _, query := range asked.asked {
		require.Contains(t, query, `WorkflowType IN ("KymaWorkflow", "SweepWorkflow") AND `)
	}
}

func TestAnArchiveIsBounded(t *testing.T) {
	s := newSources(t)
	s.Limits.FileBytes, s.Limits.Bytes = 200, 1000
	files := written(t, s)
	total := 0
	for name, content := range files {
		if name == "manifest.json" {
			continue
		}
		require.LessOrEqual(t, len(content), 200, name)
		total += len(content)
	}
	require.LessOrEqual(t, total, 1000)
	require.Contains(t, files["logs/manager.log"], "last line of the log", "the end of a log is kept")
	require.Contains(t, files["manifest.json"], "logs/manager.log was cut")
	requireNoSecret(t, files)
}

func TestAnArchiveRecordsWhatCouldNotBeRead(t *testing.T) {
	s := newSources(t)
	s.Temporal = func(context.Context) (Workflows, error) { return nil, errors.New("refused with " + planted + "-token") }
	s.Metrics = []string{"127.0.0.1:1"}
	s.Environment = append(s.Environment, "TEMPORAL_TLS_CLIENT_KEY_PATH=/nowhere")
	s.Logs = nil // they contain the key that cannot be read
	files := written(t, s)
	requireNoSecret(t, files)
	require.Contains(t, files["manifest.json"], "Temporal: refused with REDACTED")
	require.Contains(t, files["manifest.json"], "metrics of 127.0.0.1:1")
	require.Contains(t, files["manifest.json"], "read the key for Temporal: open /nowhere")
	require.Contains(t, files["resources/kymas.json"], "demo")
}
