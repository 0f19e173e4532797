package harness

import (
	"os"
	"syscall"
)

// inRoot makes a process see a folder as its root, as a user that is not root.
func inRoot(root string, uid, gid uint32) *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: uid, Gid: gid}}
	if os.Getuid() != 0 {
		attributes.Cloneflags = syscall.CLONE_NEWUSER
		attributes.UidMappings = []syscall.SysProcIDMap{{ContainerID: int(uid), HostID: os.Getuid(), Size: 1}}
		attributes.GidMappings = []syscall.SysProcIDMap{{ContainerID: int(gid), HostID: os.Getgid(), Size: 1}}
		attributes.Credential.NoSetGroups = true
	}
	return attributes
}
