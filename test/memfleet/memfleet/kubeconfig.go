package memfleet

import (
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfig is that of a cluster, without references to files.
func (l *Listener) Kubeconfig(number int) ([]byte, error) {
	name := Name(number)
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{Server: l.URL(number), CertificateAuthorityData: l.CA}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: l.fleet.Token(number)}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	encoded, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("write the kubeconfig of %s: %w", name, err)
	}
	return encoded, nil
}

// WriteState writes what clients need into a folder: ca.crt, kubeconfigs/NAME.yaml, and, last of all, address.
func (l *Listener) WriteState(folder string) error {
	kubeconfigs := filepath.Join(folder, "kubeconfigs")
	if err := os.MkdirAll(kubeconfigs, 0o700); err != nil {
		return fmt.Errorf("make the folder of the state: %w", err)
	}
	write := func(name string, content []byte) error {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			return fmt.Errorf("write the state: %w", err)
		}
		return nil
	}
	if err := write("ca.crt", l.CA); err != nil {
		return err
	}
	for number := range l.fleet.clusters {
		config, err := l.Kubeconfig(number)
		if err != nil {
			return err
		}
		if err := write(filepath.Join("kubeconfigs", Name(number)+".yaml"), config); err != nil {
			return err
		}
	}
	return write("address", []byte(l.Address()+"\n"))
}
