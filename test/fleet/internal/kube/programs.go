package kube

import (
	"path/filepath"

	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/ports"
)

// Program is a program of the cluster with its arguments. It runs in the cluster's folder.
type Program struct {
	Name string
	Args []string
	Env  []string
}

// Programs are the programs of the cluster, in the order of their start.
func (c Cluster) Programs() []Program {
	return []Program{c.etcd(), c.apiServer(), c.controllerManager()}
}

func (c Cluster) etcd() Program {
	return Program{Name: Etcd, Args: append([]string{
		"--listen-client-urls=" + etcdClient,
		"--advertise-client-urls=" + etcdClient,
		"--listen-peer-urls=" + etcdPeer,
		// Its data survive the process, and need not survive the machine.
		"--unsafe-no-fsync",
		// The API server does not use it.
		"--enable-grpc-gateway=false",
		"--log-level=warn",
	}, c.etcdMember(c.EtcdData())...)}
}

func (c Cluster) apiServer() Program {
	return Program{Name: APIServer, Args: []string{
		"--bind-address=" + ports.Loopback,
		"--advertise-address=" + ports.Loopback,
		"--secure-port=" + portNumber(c.APIServer.Number),
		"--cert-dir=" + c.pki("generated"),
		"--tls-cert-file=" + c.pki(serverPair+certificateSuffix),
		"--tls-private-key-file=" + c.pki(serverPair+keySuffix),
		"--client-ca-file=" + c.pki(authorityCertificate),

		"--etcd-servers=" + etcdClient,

		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--allow-privileged=true",

		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + c.pki(serviceAccountPublic),
		"--service-account-signing-key-file=" + c.pki(serviceAccountKey),

		"--audit-policy-file=" + c.auditPolicy(),
		"--audit-log-path=" + c.auditLog(),

		// The aggregator: APIServices can exist, and be unavailable.
		"--requestheader-client-ca-file=" + c.pki(frontProxyAuthority),
		"--requestheader-allowed-names=" + frontProxyCommonName,
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-username-headers=X-Remote-User",
		"--proxy-client-cert-file=" + c.pki(frontProxyPair+certificateSuffix),
		"--proxy-client-key-file=" + c.pki(frontProxyPair+keySuffix),

		"--service-cluster-ip-range=" + serviceRange,
		// A loopback address is refused as the endpoint of the service
		// "kubernetes", and nothing here needs one.
		"--endpoint-reconciler-type=none",
		"--profiling=true",
		// No client here needs protection from others.
		"--enable-priority-and-fairness=false",
	}}
}

func (c Cluster) controllerManager() Program {
	return Program{Name: ControllerManager, Args: []string{
		"--kubeconfig=" + c.Kubeconfig(Admin),
		// It serves nothing: whether it works shows in what it does.
		"--secure-port=0",
		"--leader-elect=false",
		// The node sends no heartbeats, and is never lost. Nobody asks for certificates; who signs them watches files, and of such
		// watches a machine has 128 for all of its fleets.
		"--controllers=*,-node-lifecycle-controller,-certificatesigningrequest-signing-controller",
		// By default it paces its first requests for seconds.
		"--kube-api-qps=500",
		"--kube-api-burst=1000",
		"--service-account-private-key-file=" + c.pki(serviceAccountKey),
		"--root-ca-file=" + c.pki(authorityCertificate),
		"--flex-volume-plugin-dir=" + filepath.Join(c.Dir, "volume-plugins"),
		"--profiling=false",
	}}
}
