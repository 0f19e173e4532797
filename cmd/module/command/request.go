package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kyma-project/lifecycle-manager/cmd/module/component"
	"github.com/kyma-project/lifecycle-manager/cmd/module/ship"
	"github.com/kyma-project/lifecycle-manager/cmd/module/template"
)

// requestFlags are the flags that create and push share.
type requestFlags struct {
	channels    []string
	descriptor  string
	kubeVersion string
	output      string
	signKey     string
	signature   string
	algorithm   string
}

func (f *requestFlags) register(command *cobra.Command) {
	flags := command.Flags()
	flags.StringSliceVar(&f.channels, "channel", nil, "channel for this version, or NAME=VERSION for another version; repeatable, adds to the channels in the configuration")
	flags.StringVar(&f.descriptor, "descriptor", string(ship.DescriptorEmbedded), "embedded: the ModuleTemplate contains the component descriptor; none: the server fetches it from the registry")
	flags.StringVar(&f.kubeVersion, "kube-version", ship.DefaultKubeVersion, "version of Kubernetes to render charts for")
	flags.StringVar(&f.signKey, "sign-key", "", "file with the private RSA key (PEM, PKCS1 or PKCS8) that signs the component version")
	flags.StringVar(&f.signature, "signature-name", "", "name of the signature; label the Secret with the public key with it")
	flags.StringVar(&f.algorithm, "signature-algorithm", component.AlgorithmPKCS1, "signature algorithm: "+component.AlgorithmPKCS1+" or "+component.AlgorithmPSS)
	flags.StringVarP(&f.output, "output", "o", string(template.FormatYAML), "output format of the resources: yaml or json")
}

// request checks the flags and reads the signing key.
func (f *requestFlags) request(path string) (ship.Request, error) {
	request := ship.Request{
		Path: path, Channels: f.channels,
		Descriptor: ship.DescriptorForm(f.descriptor), KubeVersion: f.kubeVersion,
	}
	switch {
	case f.signKey == "" && f.signature == "":
		return request, nil
	case f.signKey == "":
		return request, fmt.Errorf("%w: --signature-name needs --sign-key", errUsage)
	case f.signature == "":
		return request, fmt.Errorf("%w: --sign-key needs --signature-name", errUsage)
	}
	signing, err := component.LoadSigning(f.signKey, f.signature, f.algorithm)
	if err != nil {
		return request, fmt.Errorf("%w: %w", errUsage, err)
	}
	request.Signing = signing
	return request, nil
}

// checkOutput reports an invalid format before anything is written.
func (f *requestFlags) checkOutput() error {
	switch template.Format(f.output) {
	case template.FormatYAML, template.FormatJSON:
		return nil
	}
	return fmt.Errorf("%w: --output %q: use yaml or json", template.ErrFormat, f.output)
}

// printResult writes findings to standard error and resources to standard output.
func (f *requestFlags) printResult(command *cobra.Command, result ship.Result, err error) error {
	for _, finding := range result.Report.Findings {
		command.PrintErrln(finding)
	}
	if err != nil {
		return err
	}
	return template.Print(command.OutOrStdout(), template.Format(f.output), result.Template, result.Release)
}
