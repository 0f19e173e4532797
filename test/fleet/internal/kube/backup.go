package kube

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kyma-project/lifecycle-manager/test/fleet/internal/ports"
	"github.com/kyma-project/lifecycle-manager/test/fleet/programs"
)

const (
	// etcdClient is etcd's socket in the cluster's folder. Only the fleet's user can connect to it, so it needs no TLS, which takes
	// a twelfth of a fleet's processor time. The path is relative, since an absolute one could be too long for a socket.
	etcdClient = "unix://etcd.sock"
	// etcdPeer is where the only member of its cluster listens for peers, of which there are none: any port will do.
	etcdPeer = "http://" + ports.Loopback + ":0"
)

// EtcdListens returns nil when etcd's socket exists. An API server that begins earlier waits for seconds until it tries again.
func (c Cluster) EtcdListens(context.Context) error {
	_, err := os.Stat(filepath.Join(c.Dir, strings.TrimPrefix(etcdClient, "unix://")))
	return err
}

// EtcdData is the folder with everything that the API server has stored.
func (c Cluster) EtcdData() string { return filepath.Join(c.Dir, "etcd") }

// RestoredData is where the data of a restored snapshot are put together, before they take the place of EtcdData.
func (c Cluster) RestoredData() string { return c.EtcdData() + "-restored" }

// etcdMember are the arguments that say which member of which cluster etcd is, with its data in a folder. The member
// whose data are restored must be the same.
func (c Cluster) etcdMember(folder string) []string {
	return []string{
		"--name=default",
		"--data-dir=" + folder,
		"--initial-advertise-peer-urls=" + etcdPeer,
		"--initial-cluster=default=" + etcdPeer,
	}
}

// SaveSnapshot writes what etcd, which runs, has stored into a file.
func (c Cluster) SaveSnapshot(file string) Program {
	return Program{Name: programs.Etcdctl, Args: []string{
		"snapshot", "save", file,
		"--endpoints=" + etcdClient,
	}}
}

// RestoreSnapshot makes RestoredData of a snapshot. Revisions go on so many behind those of the snapshot, and watches
// from before are refused; with 0 they go on where the snapshot ended, as if nothing had been written after it.
func (c Cluster) RestoreSnapshot(file string, bump uint64) Program {
	args := append([]string{"snapshot", "restore", file}, c.etcdMember(c.RestoredData())...)
	if bump > 0 {
		args = append(args, "--bump-revision="+strconv.FormatUint(bump, 10), "--mark-compacted")
	}
	return Program{Name: programs.Etcdutl, Args: args}
}
