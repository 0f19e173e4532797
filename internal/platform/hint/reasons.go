package hint

// Section is a group of reasons on the page docs/reasons.md.
type Section struct {
	Title string
	// Text is shown below the title, in Markdown. It may be empty.
	Text    string
	Reasons []Reason
}

// Reason says what a reason in a status, an Event or a fault means, and what to do about it. Both texts are Markdown.
type Reason struct {
	Name  string
	Means string
	// Do begins with "nothing" if nobody has to act. Such a reason has no hint, unless a semicolon and a remedy follow.
	Do string
}

// Sections returns all reasons, in the order of the page.
func Sections() []Section {
	return []Section{
		{
			Title: "Access to the remote cluster",
			Reasons: []Reason{
				{
					Name:  "AccessSecretNotFound",
					Means: "no Secret has the label `operator.kyma-project.io/kyma-name` with the Kyma's name",
					Do:    "create it in the Kyma's namespace (or in `--access-secret-namespace`); it is taken up at once",
				},
				{
					Name:  "AccessSecretAmbiguous",
					Means: "two Secrets are labelled for the Kyma, or one outside of its namespace could also be for a Kyma of the same name elsewhere; the message names them",
					Do:    "keep one; with Kymas of one name in several namespaces, put each Secret into its Kyma's namespace",
				},
				{
					Name:  "KubeconfigRejected",
					Means: "the kubeconfig cannot be parsed, or asks for what is not allowed; the message names the field",
					Do:    "fix the Secret: no plugins, files, proxies; https, certificates and tokens inline",
				},
				{
					Name:  "UnreachableNetwork",
					Means: "nobody listens at the address, or its name does not resolve",
					Do:    "see whether the cluster is there; it is probed in every pass of the sweep",
				},
				{
					Name:  "UnreachableTimeout",
					Means: "the cluster takes connections or requests and does not answer in time",
					Do:    "see whether the cluster is there; it is probed in every pass of the sweep",
				},
				{
					Name:  "UnreachableTLS",
					Means: "the certificate is of another authority or for another name, or there is no TLS",
					Do:    "put the cluster's present authority into the Secret; make sure that it is still that cluster",
				},
				{
					Name:  "UnreachableUnauthorized",
					Means: "401: the credentials expired or were revoked; where a client certificate or token says itself that it has expired, so does the message",
					Do:    "renew the Secret",
				},
				{
					Name:  "UnreachableForbidden",
					Means: "403: the credentials lack a right; the message names the request",
					Do:    "give the user of the kubeconfig the right; it is retried after growing waits of up to a day, or at once with `reconcile`",
				},
				{
					Name:  "UnreachableServerFailed",
					Means: "the API server answers with 5xx, or with something else than it is asked for, for longer than a minute of tries",
					Do:    "see to its etcd and its load",
				},
				{
					Name:  "UnreachableResponseTooLarge",
					Means: "an answer was larger than is read",
					Do:    "find what fills the cluster, such as a resource kind with huge objects",
				},
				{
					Name:  "ServerFailed",
					Means: "an API server answered 5xx, or something else than it was asked for",
					Do:    "nothing: it is retried; if it lasts it becomes `UnreachableServerFailed`",
				},
				{
					Name:  "ConversionFailed",
					Means: "the API server could not convert an object to another version of its kind: the conversion webhook, which the message names the kind of, does not answer",
					Do:    "repair the webhook, often the module's own operator; or, if the objects may be read as they are stored, switch the conversion of the CustomResourceDefinition off (strategy `None`)",
				},
				{
					Name:  "Throttled",
					Means: "429: the API server asks to wait",
					Do:    "nothing, unless it lasts: lower `--k8s-skr-client-qps`",
				},
				{
					Name:  "Conflict",
					Means: "somebody else wrote at the same time",
					Do:    "nothing: it is retried",
				},
				{
					Name:  "InformerBehind",
					Means: "this process has not heard yet of a change that is known of, so that it cannot say what else there is",
					Do:    "nothing: it is retried. Where it stays for minutes, the watches of the control plane are broken: read the log",
				},
				{
					Name:  "AccessChanged",
					Means: "the access Secret changed while work was in progress",
					Do:    "nothing: the next try takes the new one",
				},
				{
					Name:  "ControlPlaneAccess",
					Means: "the access Secret leads to the control plane's own cluster (the uid of its namespace `kube-system`); nothing is synchronized or installed there",
					Do:    "give it the kubeconfig of the remote cluster; or, if that is wanted, set `--allow-control-plane-modules`",
				},
				{
					Name:  "ClusterChanged",
					Means: "the access leads to another cluster than the one that the Kyma's modules are in; nothing is done there; the message names both by the uid of their namespace `kube-system`",
					Do:    "give back the access to the former cluster; where it was replaced on purpose, nothing: the next synchronization records the new one; where the Kyma is being deleted and the former cluster is gone, wait for the purge, or ask for it: the Event `PurgeAbandoned` says what remains",
				},
			},
		},
		{
			Title: "Synchronization",
			Reasons: []Reason{
				{
					Name:  "SyncOntoItself",
					Means: "the access leads to the control plane itself, and the remote Kyma would be the Kyma",
					Do:    "set `spec.sync.namespace` to another namespace",
				},
				{
					Name:  "RemoteKymaClaimed",
					Means: "the remote Kyma belongs to another Kyma, as its mark and the other one's status say",
					Do:    "give one of the two another cluster, name or namespace; the remote Kyma's annotation `operator.kyma-project.io/synced-from` names the other one",
				},
				{
					Name:  "RemoteKymaInvalid",
					Means: "what the remote Kyma asks for cannot be accepted; what was accepted last stays in force",
					Do:    "its owner corrects the remote Kyma, whose status says the same",
				},
				{
					Name:  "RemoteKymaDeleting",
					Means: "the remote Kyma is being deleted and finalizers of others block it",
					Do:    "have those finalizers removed",
				},
				{
					Name:  "RemoteKymaNotMoved",
					Means: "a change of `spec.sync` asks for another place, and the move cannot be finished",
					Do:    "the message says what is in the way",
				},
				{
					Name:  "DefinitionNotSynced",
					Means: "a CRD could not be brought or updated",
					Do:    "see the message: rights, or a CRD of somebody else",
				},
				{
					Name:  "CatalogNotSynced",
					Means: "module templates or release metas could not be brought",
					Do:    "see the message: rights, or a CRD of somebody else",
				},
				{
					Name:  "CatalogContinues",
					Means: "so many of them differ that they are brought in several reconciles; the message says how far it has come",
					Do:    "nothing",
				},
				{
					Name:  "RemoteTemplateNotImported",
					Means: "a user-provided ModuleTemplate in the remote cluster could not be imported",
					Do:    "see the module's message",
				},
				{
					Name:  "EditIgnored",
					Means: "channel or modules were edited in the control plane's Kyma, but its remote Kyma decides about them (`spec.sync` is unset); an Event, and the condition `RemoteKymaDecides` as long as the two differ",
					Do:    "edit the Kyma in the remote cluster, or set `spec.sync`, so that both count",
				},
				{
					Name:  "ImagePullSecretNotFound",
					Means: "the Secret that `--skr-image-pull-secret` names does not exist",
					Do:    "create it, or correct the flag",
				},
				{
					Name:  "UpstreamAgentNotRemoved",
					Means: "what an agent left in the remote cluster, upstream's ([migration](migration.md)) or that of this instance before events were switched off, could not be removed",
					Do:    "see the message: the rights of the account there",
				},
				{
					Name:  "ImagePullSecretNotSynced",
					Means: "the image pull Secret could not be brought",
					Do:    "see the message: rights, or a Secret of somebody else in its place",
				},
				{
					Name:  "ManifestsRemaining",
					Means: "the clean-up waits for the modules to be removed",
					Do:    "nothing",
				},
			},
		},
		{
			Title: "The agent",
			Text:  "Of [events from remote clusters](watcher.md): in the Kyma's `status.lastOperation` while its condition `SKRWebhook` is False, or in the workflow `certificates`. The Kyma is Processing while something is waited for, and in Error where something failed; its modules are installed and reported all the same.",
			Reasons: []Reason{
				{
					Name:  "RuntimeIDMissing",
					Means: "the Kyma does not have the label `kyma-project.io/runtime-id`, by which the events of its cluster are recognized",
					Do:    "label the Kyma, with a value that no other has",
				},
				{
					Name:  "AuthoritiesPending",
					Means: "the listener has no certificate yet, or its Secret has no authorities",
					Do:    "wait some seconds at the first start; otherwise see the details of the workflow `certificates` in Temporal",
				},
				{
					Name:  "CertificatePending",
					Means: "the certificate of the agent is not issued yet, or the listener does not trust its authority yet; the message has the issuer's words",
					Do:    "nothing, unless it lasts: see the Certificate in the namespace of `--istio-namespace`",
				},
				{
					Name:  "CertificateNameTaken",
					Means: "a Kyma of the same name in another namespace has the certificate, which is named for it",
					Do:    "give one of the two another name: of Kymas of one name, only one can have an agent",
				},
				{
					Name:  "CertificateWithoutAuthority",
					Means: "the issuer does not say in `ca.crt` which authority signed, as a public one does not",
					Do:    "configure an issuer with a certificate authority of its own",
				},
				{
					Name:  "CertificateRefused",
					Means: "the control plane refuses a Secret or Certificate, as by an admission policy or a quota",
					Do:    "allow it in the namespace of `--istio-namespace`",
				},
				{
					Name:  "IssuerNotInstalled",
					Means: "the control plane does not have the Certificates of the issuer",
					Do:    "install their controller, or choose another `--cert-management`",
				},
				{
					Name:  "AuthoritiesUnreadable",
					Means: "the Secret `klm-watcher-authority` cannot be read: somebody changed it",
					Do:    "restore it; or delete it: whom the listener trusts stays trusted, and another authority is made",
				},
				{
					Name:  "AgentCertificateHeldBack",
					Means: "the certificate of a new authority waits until the API server of the remote cluster trusts that authority",
					Do:    "nothing: it is brought once the RemoteAgent is applied",
				},
				{
					Name:  "AgentCertificateRefused",
					Means: "the remote cluster refuses the Secret `skr-webhook-tls`, or one that somebody else made is in its place",
					Do:    "delete the other one, or see which policy refuses it",
				},
				{
					Name:  "AgentNotSynchronized",
					Means: "the agent's certificate could not be brought to the remote cluster",
					Do:    "see the message: rights, or the cluster's answer; it is retried",
				},
				{
					Name:  "InvalidAgent",
					Means: "the RemoteAgent says what cannot be read, or a limit of its container is no quantity",
					Do:    "correct `--skr-webhook-memory-limits` and `--skr-webhook-cpu-limits`; do not write RemoteAgents manually",
				},
			},
		},
		{
			Title: "What a Kyma asks for",
			Reasons: []Reason{
				{
					Name:  "ModuleNotFound",
					Means: "nothing of that name is in the catalog",
					Do:    "correct the entry, or publish the module",
				},
				{
					Name:  "NoVersionForChannel",
					Means: "the release meta has no version for the channel",
					Do:    "choose another channel, or add it",
				},
				{
					Name:  "ModuleTemplateNotFound",
					Means: "the release meta names a version that has no ModuleTemplate",
					Do:    "publish the ModuleTemplate `<module>-<version>`",
				},
				{
					Name:  "ModuleAmbiguous",
					Means: "several templates answer; the message names them",
					Do:    "name one by namespace and name, or take the others away",
				},
				{
					Name:  "OtherController",
					Means: "another controller serves the module",
					Do:    "nothing, or set `controller`",
				},
				{
					Name:  "ModuleMandatory",
					Means: "the module is mandatory: it is installed anyway",
					Do:    "take the entry out",
				},
				{
					Name:  "ModuleNotAllowed",
					Means: "the module is `internal`, `beta` or restricted, and the Kyma may not have it; it is uninstalled. Or its release meta has a `kymaSelector`, but `--restricted-default-modules` does not name it; then it stays where it is",
					Do:    "label the Kyma, or take the entry out",
				},
				{
					Name:  "DowngradeRefused",
					Means: "an older version than the installed one is asked for; the installed one stays",
					Do:    "publish a newer version, remove and add the module, or allow it by the annotation `operator.kyma-project.io/allow-downgrade: \"true\"` on the Kyma",
				},
				{
					Name:  "DuplicateComponent",
					Means: "two entries are the same component",
					Do:    "take one out",
				},
				{
					Name:  "ComponentChanged",
					Means: "the entry has become another component",
					Do:    "remove and add the module",
				},
				{
					Name:  "TargetChanged",
					Means: "the template's `target` changed",
					Do:    "remove and add the module",
				},
				{
					Name:  "SyncDisabled",
					Means: "a module for a remote cluster, but `spec.sync.enabled` is false",
					Do:    "switch it on, or take the module out",
				},
				{
					Name:  "ControlPlaneTargetNotAllowed",
					Means: "a module for the control plane itself, or the sync strategy `local-client`, which reaches it with our own rights",
					Do:    "set `--allow-control-plane-modules`, if that is wanted",
				},
				{
					Name:  "SharedModule",
					Means: "another Kyma's Manifest installs this `control-plane` module for all",
					Do:    "nothing",
				},
				{
					Name:  "SharedModuleVersion",
					Means: "another Kyma has the same `control-plane` module in another version",
					Do:    "agree on one version",
				},
				{
					Name:  "InvalidDescriptor",
					Means: "the component descriptor cannot be read",
					Do:    "publish it again: `module lint`",
				},
				{
					Name:  "SignatureRefused",
					Means: "no signature that the policy asks for verifies",
					Do:    "see [signatures](operating.md#signatures)",
				},
				{
					Name:  "UnsupportedLayer",
					Means: "the module has a layer of a kind that is not installed",
					Do:    "publish it with raw manifests or a Helm chart",
				},
				{
					Name:  "InvalidDefaultCR",
					Means: "`spec.data` of the template is no custom resource with a name, or has more than 256 KiB",
					Do:    "publish it again",
				},
				{
					Name:  "DescriptorUnavailable",
					Means: "the registry could not be asked for the descriptor",
					Do:    "check registry and credentials; it is retried",
				},
				{
					Name:  "ManifestNameCollision",
					Means: "two modules would have one Manifest's name, or a module would have that of an agent",
					Do:    "rename one",
				},
				{
					Name:  "TooManyModules",
					Means: "the Kyma has 256 Manifests, and no more [fit into its status](scale.md#how-large-objects-can-get); mandatory modules and those that are still being removed count; what is installed stays",
					Do:    "take modules out, or wait until those that are being removed are gone",
				},
				{
					Name:  "KymaNameTooLong",
					Means: "with this name, Manifests have no valid names",
					Do:    "give the Kyma a shorter name",
				},
			},
		},
		{
			Title: "Artifacts",
			Reasons: []Reason{
				{
					Name:  "InvalidReference",
					Means: "the name of a layer or component version is not a valid one",
					Do:    "publish the module again",
				},
				{
					Name:  "RegistryNotAllowed",
					Means: "the layer is in a registry that `--oci-registry-allowed` leaves out",
					Do:    "publish the module in one of those that the message lists, or allow this one",
				},
				{
					Name:  "LayerNotFound",
					Means: "the registry does not have the layer; some also say so without the right credentials",
					Do:    "push it again: the registry is asked again within a minute",
				},
				{
					Name:  "DescriptorNotFound",
					Means: "the registry does not have the component version",
					Do:    "push it again: the registry is asked again within a minute; or fix the release meta",
				},
				{
					Name:  "DigestMismatch",
					Means: "the registry, or a proxy in its place, sent something else than the digest names, twice in a row",
					Do:    "find out who changed it: nothing of it was used; the registry is asked again within a minute",
				},
				{
					Name:  "LayerTooLarge",
					Means: "the layer, or what it unpacks to, is above the limits",
					Do:    "make it smaller",
				},
				{
					Name:  "InvalidManifest",
					Means: "the layer cannot be read as what it says it is",
					Do:    "publish the module again",
				},
				{
					Name:  "InvalidChart",
					Means: "the Helm chart cannot be loaded or rendered",
					Do:    "the message has Helm's words",
				},
				{
					Name:  "Unsupported",
					Means: "the layer is of a kind that is not installed, such as a kustomize folder",
					Do:    "publish it as raw manifests",
				},
				{
					Name:  "RegistryUnavailable",
					Means: "the registry does not answer, or not as it is spoken to. The `hint` names the flag if its certificate is of an unknown authority (`--oci-registry-ca-file`), or if it has no TLS (`--oci-registry-plain-http`)",
					Do:    "check that the registry runs and that the workers reach it: DNS, egress, proxy, its certificate; the registry is asked again within a minute of its return",
				},
				{
					Name:  "RegistryUnauthorized",
					Means: "the registry does not accept the credentials",
					Do:    "renew the Secret of `--oci-registry-cred-secret`; it is read again by itself",
				},
				{
					Name:  "SecretNotInjected",
					Means: "a Secret of the module [asks for data](module-teams.md#data-from-the-control-plane), and the Secret of its name in `kcp-system` is missing, may not be read, or is not labelled for the module; nothing is applied",
					Do:    "create it in the control plane, with the label `operator.kyma-project.io/module-name` and the module's name; the sweep tries again in each pass",
				},
				{
					Name:  "RendererFailed",
					Means: "the process that renders charts could not, or the node is so busy that it did not come to it",
					Do:    "the message says which; it is retried",
				},
			},
		},
		{
			Title: "Installation",
			Reasons: []Reason{
				{
					Name:  "Ready",
					Means: "the module is ready",
					Do:    "nothing",
				},
				{
					Name:  "Installing",
					Means: "everything was applied just now",
					Do:    "nothing",
				},
				{
					Name:  "ResourcesPending",
					Means: "some objects are not ready yet; the message names them, and after a minute what their latest Event says",
					Do:    "wait, or see to those objects",
				},
				{
					Name:  "ResourcesMissing",
					Means: "objects that were applied are gone; the message names them",
					Do:    "nothing: they are created again; find who deletes them if it comes back",
				},
				{
					Name:  "ResourcesFailed",
					Means: "some objects cannot become ready by waiting",
					Do:    "see the named objects",
				},
				{
					Name:  "WorkloadStuck",
					Means: "pods of a workload do not run for long; the message says why, in the words of Kubernetes",
					Do:    "see those pods. With `ImagePullBackOff` it is the image; with `OOMKilled` a container needs more memory; with `Unschedulable` no node takes the pod: add nodes, or lower its requests",
				},
				{
					Name:  "ManagerPending",
					Means: "the workload that `spec.manager` names is not ready",
					Do:    "see that workload",
				},
				{
					Name:  "ModuleCRWanted",
					Means: "the default custom resource is about to be made",
					Do:    "nothing",
				},
				{
					Name:  "ModuleCRPending",
					Means: "the module's custom resource says Processing, or nothing",
					Do:    "see the module's operator",
				},
				{
					Name:  "ModuleCRDeleting",
					Means: "the module's custom resource is being deleted, but the module is not",
					Do:    "wait until it is deleted, or remove the module",
				},
				{
					Name:  "ModuleCRError",
					Means: "the module's custom resource says Error",
					Do:    "see its status",
				},
				{
					Name:  "ModuleCRWarning",
					Means: "the module's custom resource says Warning",
					Do:    "see its status",
				},
				{
					Name:  "ModuleCRRemoved",
					Means: "its user deleted the default custom resource, and it stays deleted",
					Do:    "nothing; `operator.kyma-project.io/recreate-default-cr` on the Kyma brings it back",
				},
				{
					Name:  "ModuleCRGone",
					Means: "the default custom resource is deleted each time it is created",
					Do:    "find who deletes it",
				},
				{
					Name:  "DefaultCRInvalid",
					Means: "the cluster refuses the default custom resource",
					Do:    "publish the module with one that fits its CRD; what a quota, a webhook or a policy refused is retried after growing waits of up to 15 minutes",
				},
				{
					Name:  "DefaultCRRetried",
					Means: "creating the default custom resource failed for a reason that may pass",
					Do:    "nothing, unless it lasts: a webhook may be down",
				},
				{
					Name:  "ApplyFailed",
					Means: "the cluster refused some objects, or cannot make sense of them (a field of a wrong type); the message names the objects, the fields and the API server's reasons",
					Do:    "publish the module again with what the message asks for, or give Lifecycle Manager's account in the cluster the right that it misses; it is retried after growing waits of up to 15 minutes",
				},
				{
					Name:  "FieldImmutable",
					Means: "some objects would change a field that the API server never lets anybody change; they stay as they were",
					Do:    "publish a version with another name for the object, or delete the object in the cluster: it is created again. With the annotation `operator.kyma-project.io/replace` on the object, Lifecycle Manager [deletes and creates it](module-teams.md#what-cannot-be-changed) itself",
				},
				{
					Name:  "NotAdmitted",
					Means: "admission control of the cluster refused some objects: a quota, a limit range, pod security, a policy or a webhook, which the message names",
					Do:    "whoever runs that cluster changes what refuses them, such as the quota; nothing has to be published again: it is retried after growing waits of up to 15 minutes",
				},
				{
					Name:  "AdmissionWebhookFailed",
					Means: "an admission webhook that has to be asked about some objects does not answer; the message names it",
					Do:    "repair the webhook, often another module's operator, or delete its configuration if its operator is gone; it is retried after growing waits of up to 15 minutes",
				},
				{
					Name:  "NamespaceTerminating",
					Means: "the namespace of some objects is being deleted",
					Do:    "wait until it is gone: it is created again; if it stays, see its conditions for what holds it",
				},
				{
					Name:  "ApplyContinues",
					Means: "the module has more objects than one step could apply; the message says how many are applied",
					Do:    "nothing: the next one goes on",
				},
				{
					Name:  "ApplyRetried",
					Means: "applying some objects failed for a reason that may pass; an Error after `--missing-api-timeout`, and retried all the same",
					Do:    "nothing, unless it lasts: the message says why",
				},
				{
					Name:  "MissingAPI",
					Means: "the cluster does not know the kind of some objects",
					Do:    "install what brings the kind, or mark the object `optional`",
				},
				{
					Name:  "StoredVersions",
					Means: "an upgrade would take away a version in which custom resources are stored",
					Do:    "migrate those custom resources first",
				},
				{
					Name:  "HookPending",
					Means: "a hook of the chart is not done yet",
					Do:    "wait, or see its Job",
				},
				{
					Name:  "HookFailed",
					Means: "a hook of the chart failed",
					Do:    "see its Job",
				},
				{
					Name:  "FieldConflict",
					Means: "somebody keeps changing an object of the module; the message names manager and field, and when it is put back again",
					Do:    "make the two agree",
				},
				{
					Name:  "ResourcesRecreated",
					Means: "somebody deletes an object of the module, or takes our labels off it, each time it is created or put back; the message names it, and when it is created again",
					Do:    "find what does it: a clean-up policy, an owner reference to an object that does not exist, a controller; the cluster's audit log names it",
				},
				{
					Name:  "ResourcesTerminating",
					Means: "somebody deleted an object of the module, and a finalizer holds it; the message names both",
					Do:    "see to the controller of that finalizer; the object is created again once it is gone",
				},
				{
					Name:  "InvalidStateCheck",
					Means: "`customStateCheck` of the ModuleTemplate has a path that is no JSONPath; the message names it",
					Do:    "publish the module with one that is",
				},
				{
					Name:  "NotOwnedByKyma",
					Means: "no Kyma of this instance owns the Manifest: by its controller reference, with the uid of a Kyma in the same namespace, and the label `kyma-name`; nothing of it is installed, removed or released",
					Do:    "do not write Manifests manually; where its Kyma is gone for good, remove what remains of it, then its finalizers",
				},
				{
					Name:  "NotPlanned",
					Means: "the Manifest is not as the plan of its Kyma decided it (`status.planned` of the Kyma), or no plan has it; nothing is fetched, installed or changed. One that no plan ever had is removed, and the Kyma gets the Event `ManifestNotPlanned`",
					Do:    "find out who wrote the Manifest, and change the Kyma, the ModuleTemplate or the ModuleReleaseMeta instead",
				},
				{
					Name:  "NotSigned",
					Means: "signatures are required now, and the plan accepted the module's descriptor when they were not; nothing is installed or changed",
					Do:    "sign the component version, or publish a signed one",
				},
				{
					Name:  "TargetNotDecided",
					Means: "the Manifest asks for the control plane's own cluster, or for another layer there, and its Kyma's plan does not; nothing is installed or changed",
					Do:    "nothing: the Kyma's next reconcile corrects it, or removes it",
				},
				{
					Name:  "AwaitsTakeOver",
					Means: "upstream wrote the Manifest's spec and installed the module; what it installed is on record, and nothing is changed",
					Do:    "nothing: the Kyma's next reconcile plans it; a Kyma with the label `skip-reconciliation` has none",
				},
				{
					Name:  "SpecEdited",
					Means: "somebody edited the Manifest's spec; that is not installed, but put back, with the Event `SpecRestored`",
					Do:    "change the Kyma, the ModuleTemplate or the ModuleReleaseMeta; to try something manually, label the Manifest `skip-reconciliation` and change the objects in the cluster",
				},
				{
					Name:  "InvalidManifestSpec",
					Means: "the Manifest itself cannot be worked with",
					Do:    "do not write Manifests manually",
				},
				{
					Name:  "TooManyObjects",
					Means: "the Manifest with the inventory of the module's objects would not [fit into etcd](scale.md#how-large-objects-can-get); nothing is applied, and what is installed stays",
					Do:    "split the module",
				},
				{
					Name:  "ManifestChanged",
					Means: "the Manifest changed while it was worked on",
					Do:    "nothing",
				},
				{
					Name:  "Skipped",
					Means: "the label `skip-reconciliation` is set",
					Do:    "take the label off when ready",
				},
				{
					Name:  "Unmanaged",
					Means: "the module's entry says `managed: false`",
					Do:    "nothing",
				},
			},
		},
		{
			Title: "Removal",
			Reasons: []Reason{
				{
					Name:  "Deleting",
					Means: "the module is being removed",
					Do:    "nothing",
				},
				{
					Name:  "WaitingForModuleCR",
					Means: "the removal waits for the default custom resource's finalizers",
					Do:    "see the module's operator",
				},
				{
					Name:  "BlockedByModuleCRs",
					Means: "custom resources that users made would be lost with the module; the `hint` beside the message and an Event `UserDataBlocksRemoval` name the first ten",
					Do:    "delete them, keep the module, or allow their [loss](operating.md#data-of-a-modules-users) by the annotation `operator.kyma-project.io/delete-user-data`",
				},
				{
					Name:  "WaitingForResources",
					Means: "the removal waits for objects to go",
					Do:    "see their finalizers",
				},
				{
					Name:  "ManifestsNotDeleted",
					Means: "the control plane refuses to delete Manifests of a Kyma under deletion, such as by a policy; the others are removed meanwhile",
					Do:    "the message names them and says why: fix what refuses it; it is retried after growing waits of up to 15 minutes",
				},
			},
		},
		{
			Title: "Other reasons",
			Reasons: []Reason{
				{
					Name:  "TimedOut",
					Means: "a step did not finish in time",
					Do:    "nothing, unless it lasts: see the log",
				},
				{
					Name:  "PurgeContinues",
					Means: "there is more to purge of a module than one step could do",
					Do:    "nothing: the next one goes on",
				},
				{
					Name:  "WaitEnded",
					Means: "a wait ended without an answer",
					Do:    "nothing",
				},
				{
					Name:  "Error",
					Means: "an unclassified error; the message says more",
					Do:    "see the log",
				},
			},
		},
		{
			Title: "Events only",
			Reasons: []Reason{
				{
					Name:  "KymaReady",
					Means: "the Kyma became Ready, and which modules did so in the same moment",
					Do:    "nothing",
				},
				{
					Name:  "KymaWarning",
					Means: "… Warning",
					Do:    "see the module",
				},
				{
					Name:  "KymaError",
					Means: "… Error, for a module; where the Kyma itself cannot be worked on, such as for its access, the Event has that reason",
					Do:    "see the message",
				},
				{
					Name:  "KymaDeleting",
					Means: "… Deleting",
					Do:    "nothing",
				},
				{
					Name:  "ModuleReady",
					Means: "a module became ready before all of the Kyma was",
					Do:    "nothing",
				},
				{
					Name:  "ModuleWarning",
					Means: "… Warning",
					Do:    "see its message",
				},
				{
					Name:  "ModuleError",
					Means: "… Error",
					Do:    "see its message",
				},
				{
					Name:  "ModuleRemoved",
					Means: "a module is gone",
					Do:    "nothing",
				},
				{
					Name:  "ModuleLeft",
					Means: "a module stays where it is installed, as its Kyma was deleted with `--cascade=orphan`",
					Do:    "nothing: the next Kyma of that name takes it over; or delete the Manifest, which does not delete the objects",
				},
				{
					Name:  "OrphanAdopted",
					Means: "the Manifest that remains of an earlier Kyma of this name is for the cluster of the present one, and is this one's now, with what it knows of what it installed",
					Do:    "nothing",
				},
				{
					Name:  "OrphanReleased",
					Means: "the Manifest that remains of an earlier Kyma of this name is for another cluster, or for one that is not on record, and made room for the Kyma's own, which takes over what it finds in its cluster by the labels on the objects",
					Do:    "nothing",
				},
				{
					Name:  "OrphanDeleted",
					Means: "somebody deleted a Manifest of a Kyma that was deleted with `--cascade=orphan`; its objects stay",
					Do:    "remove them manually, where they are not wanted",
				},
				{
					Name:  "ManifestNotPlanned",
					Means: "somebody made a Manifest for this Kyma that no plan of it has; nothing of it is fetched or installed, and it is removed",
					Do:    "find out who may write Manifests; list the module in the Kyma instead",
				},
				{
					Name:  "SpecRestored",
					Means: "a Manifest's spec was edited manually, and was put back",
					Do:    "change the Kyma, the ModuleTemplate or the ModuleReleaseMeta instead",
				},
				{
					Name:  "RemovalUpgradeFailed",
					Means: "a newer version of a module whose removal waits for its operator could not be applied",
					Do:    "publish one that can, or take the finalizer off the default custom resource",
				},
				{
					Name:  "RemovalHeld",
					Means: "so many clusters lost modules within the window that further [removals](operating.md#removals) wait; or a change of the catalog would remove a module from many Kymas",
					Do:    "undo what removes the modules, or approve it in the RemovalBudget",
				},
				{
					Name:  "AdoptedFromUpstream",
					Means: "a Manifest that upstream had worked on got its inventory: objects stay as they are ([migration](migration.md))",
					Do:    "nothing",
				},
				{
					Name:  "DriftCorrected",
					Means: "objects were not as they were applied, and were corrected",
					Do:    "find who changes them, if it happens again",
				},
				{
					Name:  "ObjectReplaced",
					Means: "objects of a module could not be changed, and were deleted and created again, as their annotation `operator.kyma-project.io/replace` asks",
					Do:    "nothing",
				},
				{
					Name:  "DriftConflict",
					Means: "somebody keeps changing or deleting an object",
					Do:    "make the two agree",
				},
				{
					Name:  "NotPruned",
					Means: "a chart asks which APIs the cluster has, and an aggregated API does not answer; objects that the chart does not render without it stay",
					Do:    "repair the API that the message names, or delete its APIService",
				},
				{
					Name:  "UserDataBlocksRemoval",
					Means: "custom resources that users made would be lost with a module that is to go; the message names the first ten",
					Do:    "delete them, keep the module, or allow their [loss](operating.md#data-of-a-modules-users) by the annotation `operator.kyma-project.io/delete-user-data`",
				},
				{
					Name:  "UserDataDeleted",
					Means: "custom resources that users made are deleted with their module, as the annotation `delete-user-data` allows",
					Do:    "nothing",
				},
				{
					Name:  "LeftToOtherKymas",
					Means: "a module was removed or changed, and objects of it stay, as another Kyma in the same cluster uses them, or a Namespace, as something else is in it or cannot be listed; the message names it",
					Do:    "nothing: the last of these Kymas removes them. A Namespace is yours: delete it when you no longer need what is in it",
				},
				{
					Name:  "KeptByResourcePolicy",
					Means: "a module was removed or changed, and objects of it stay that carry the annotation `helm.sh/resource-policy: keep`, with their definition or Namespace; the message names the first three",
					Do:    "nothing: they are yours now, and no longer the module's. Delete them when you no longer need them; a later installation of the module takes them over",
				},
				{
					Name:  "ReleasedWithoutCluster",
					Means: "a module was removed of which nothing was on record any more, and its cluster could not be read; the message says why",
					Do:    "look for what remains of the module there, if the cluster comes back",
				},
				{
					Name:  "UpstreamCertificateLeft",
					Means: "the certificate of upstream's agent could not be deleted in the control plane; the message says why ([migration](migration.md))",
					Do:    "delete the Certificate and the Secret of that name, or allow it in `--istio-namespace`",
				},
				{
					Name:  "RemoteChangesUndone",
					Means: "a remote cluster takes away each time what is written there: labels, annotations and status of its Kyma, objects of the catalog, the image pull Secret, the certificate of the agent; the message names the field manager that did, where one says so. After three times in a row it is written again once a day, and at once where something else is wanted",
					Do:    "find what does it: a controller, an admission policy or webhook, or a definition that was edited and prunes",
				},
				{
					Name:  "UnknownObject",
					Means: "an object has our mark, but no Manifest knows it, as after a [restore](backup.md#what-becomes-of-what-was-changed-after-the-snapshot)",
					Do:    "delete it, if nobody needs it",
				},
				{
					Name:  "PurgeGracePeriodInvalid",
					Means: "the annotation with the grace period cannot be read; the default counts",
					Do:    "correct it",
				},
				{
					Name:  "Purged",
					Means: "an object was deleted without its finalizers having been served",
					Do:    "see what its finalizers were for",
				},
				{
					Name:  "PurgeAbandoned",
					Means: "something could not be reached, and was released; some of what remains is named",
					Do:    "clean it up manually, if the cluster comes back",
				},
			},
		},
		{
			Title: "Watchers",
			Text:  "In an Event on the Watcher, and in the message of its condition `VirtualService`, whose own reason is always `Ready`.",
			Reasons: []Reason{
				{
					Name:  "WatcherReady",
					Means: "events of remote clusters arrive",
					Do:    "nothing",
				},
				{
					Name:  "WatcherGatewayNotFound",
					Means: "no Gateway matches `spec.gateway.selector`, or none has a host that the Watcher's namespace may use; a VirtualService that is there already stays as it is",
					Do:    "label a Gateway, or correct the selector; it is taken up at once",
				},
				{
					Name:  "WatcherPathTaken",
					Means: "an older Watcher for the same manager has its events go to another Service, and the path of their URL can lead to one only",
					Do:    "give one of the two another `spec.manager`, or both the same Service",
				},
				{
					Name:  "WatcherNameTaken",
					Means: "a VirtualService of the Watcher's name belongs to somebody else, and is left as it is",
					Do:    "rename one of the two",
				},
				{
					Name:  "WatcherInvalid",
					Means: "the message names the field that cannot be followed",
					Do:    "correct the field",
				},
				{
					Name:  "WatcherNotRouted",
					Means: "without Istio (`--watcher-routing=direct`), only events for this instance arrive, and these are for another manager",
					Do:    "leave out `spec.manager`, or route by Istio",
				},
				{
					Name:  "WatcherRefused",
					Means: "the control plane refuses the VirtualService; the message has its words",
					Do:    "see to the rights of Lifecycle Manager, or to what the admission webhook says",
				},
				{
					Name:  "VirtualServiceRemoving",
					Means: "the VirtualService has finalizers of others, for which the Watcher waits",
					Do:    "whoever set these finalizers must take them off",
				},
				{
					Name:  "ListenerAddressUnknown",
					Means: "the Gateway that `--istio-gateway-name` and `--istio-gateway-namespace` name does not exist, or has no host to connect to, so that agents cannot be given an address",
					Do:    "create it, with a host that is no wildcard",
				},
			},
		},
		{
			Title: "Rollouts",
			Text:  "In an Event on the ModuleRollout; `VersionNotApplied` and `NotSettled` among its `status.failures`, where other reasons are states of Manifests. The reasons of its conditions are its phases. The last three are those of the condition `Ready` of a RolloutPolicy.",
			Reasons: []Reason{
				{
					Name:  "RolloutHeld",
					Means: "a [rollout in stages](rollouts.md) stopped by itself; the message says how many clusters failed with what, or which query of Prometheus gave what",
					Do:    "repair the clusters, give the channel another version, or set `spec.acceptFailures`, `spec.skipAnalysis`, `spec.revert` or `spec.abort` of the ModuleRollout",
				},
				{
					Name:  "RolloutProgressed",
					Means: "a stage began, or the rollout ended",
					Do:    "nothing",
				},
				{
					Name:  "VersionPromoted",
					Means: "the version stayed well for long enough, and the next channel [got it](rollouts.md#promotion); also on the ModuleReleaseMeta",
					Do:    "nothing",
				},
				{
					Name:  "PromotionEnded",
					Means: "the next channel does not get the version from this rollout; the message says why",
					Do:    "give the channel the version yourself, if it is to have it",
				},
				{
					Name:  "VersionNotApplied",
					Means: "the version was released to a cluster, and its Manifest did not get it within `settleWithin`",
					Do:    "look at the status of the Kyma",
				},
				{
					Name:  "NotSettled",
					Means: "the module did not become ready within `settleWithin`",
					Do:    "look at the status of the Manifest; a longer `settleWithin` may fit the module better",
				},
				{
					Name:  "InForce",
					Means: "the policy decides how new versions reach the clusters of so many channels",
					Do:    "nothing",
				},
				{
					Name:  "NoPrometheus",
					Means: "the policy decides, but its stages with an [analysis](rollouts.md#analysis) wait, since no Prometheus is configured",
					Do:    "set `--rollout-prometheus-url`",
				},
				{
					Name:  "NothingSelected",
					Means: "no channel is selected by the policy rather than by another one",
					Do:    "correct `modules`, `selector` or `channels`, or delete the policy",
				},
			},
		},
	}
}
