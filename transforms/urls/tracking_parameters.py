"""Tracking parameters and session identifiers: query parameters that do not identify a page. Data for `dedup`.

A name belongs here if a URL without it leads to the same page on nearly every site. A name that some sites use for
pages of their own (`cid`, `ref`, `source`, `id`, `s`) is listed only under the hosts where it is a tracking parameter.
docs/urls.md says how to change this list, and what a change costs.

Entries were compared with the vendors' documentation, and with four lists maintained for browsers: AdGuard's
TrackParamFilter (github.com/AdguardTeam/AdguardFilters), ClearURLs (github.com/ClearURLs/Rules), Brave's query filter
(github.com/brave/brave-core, components/query_filter) and Firefox's StripOnShare.json. Session identifiers are those of
the Internet Archive's Heritrix (StripSessionIDs, IAURLCanonicalizer), with the vendors' documentation.
"""

from typing import NamedTuple

REVIEWED = "2026-11-20"
"""When every entry was last compared with its source."""


class Tracking(NamedTuple):
    """Parameters that are recognized by name alone."""

    names: str  # lower case, separated by blanks; a final * matches any suffix
    vendor: str  # who sets them, and the source


class OnHosts(NamedTuple):
    """Parameters with a different meaning on some hosts."""

    hosts: str  # separated by blanks; each includes its subdomains
    names: str  # as above; * alone: all names
    vendor: str


class Session(NamedTuple):
    """Parameters that hold a session identifier if their value has the right form."""

    names: str
    value: str  # regular expression for the whole value, ignoring case
    vendor: str
    beside: str = ""  # applies only if this parameter is present too


TRACKING = (
    Tracking("utm_*", "Google Analytics campaigns: support.google.com/analytics/answer/10917952"),
    Tracking("_ga _gl", "Google Analytics across domains: support.google.com/analytics/answer/10071811"),
    Tracking("gclid gclsrc gbraid wbraid dclid gad_source gad_campaignid", "Google Ads: support.google.com/google-ads"),
    Tracking("srsltid", "Google Merchant Center: support.google.com/merchants/answer/11127659"),
    Tracking("usqp", "Google AMP: AdGuard"),
    Tracking("fbclid fb_action_ids fb_action_types fb_source fb_ref fb_comment_id", "Facebook: AdGuard, Brave"),
    Tracking("action_object_map action_type_map action_ref_map", "Facebook: AdGuard, ClearURLs"),
    Tracking("igshid igsh", "Instagram: Brave, Firefox"),
    Tracking("twclid __twitter_impression", "Twitter: Brave, ClearURLs"),
    Tracking("msclkid", "Microsoft Advertising: help.ads.microsoft.com, Microsoft Click ID"),
    Tracking("ttclid", "TikTok Ads: ads.tiktok.com/help, TikTok Click ID"),
    Tracking("li_fat_id", "LinkedIn Ads: first-party cookies, linkedin.com/help/lms"),
    Tracking("yclid ysclid ymclid _openstat", "Yandex: yandex.com/support/metrica, yclid and Openstat tags"),
    Tracking("mtm_* matomo_* piwik_*", "Matomo campaigns: matomo.org/faq/reports/what-is-campaign-tracking"),
    Tracking("pk_campaign pk_kwd pk_keyword pk_source pk_medium pk_content pk_cid pk_vid", "Matomo, formerly Piwik"),
    Tracking("mc_cid mc_eid mc_tc", "Mailchimp: mailchimp.com/help, Google Analytics and e-mail tracking"),
    Tracking("_hsenc _hsmi __hssc __hstc __hsfp hsctatracking", "HubSpot: knowledge.hubspot.com, AdGuard, Brave"),
    Tracking(
        "hsa_acc hsa_ad hsa_cam hsa_grp hsa_kw hsa_la hsa_mt hsa_net hsa_ol hsa_src hsa_tgt hsa_ver",
        "HubSpot Ads: knowledge.hubspot.com/ads/ad-tracking-in-hubspot",
    ),
    Tracking("mkt_tok", "Marketo mail: AdGuard, ClearURLs"),
    Tracking("_kx", "Klaviyo mail: AdGuard, Brave"),
    Tracking("_bhlid", "Beehiiv mail: Brave"),
    Tracking("ml_subscriber ml_subscriber_hash", "MailerLite: AdGuard, Brave"),
    Tracking("ss_email_id", "Squarespace mail: Brave"),
    Tracking("vero_id vero_conv", "Vero mail: AdGuard, Brave"),
    Tracking("mindbox-click-id mindbox-message-key", "Mindbox: AdGuard"),
    Tracking("bsft_aaid bsft_clkid bsft_eid bsft_ek bsft_mid bsft_uid", "Blueshift mail: AdGuard"),
    Tracking("at_recipient_id at_recipient_list", "Piano mail: Brave"),
    Tracking("oly_anon_id oly_enc_id rb_clickid", "Olytics, Omeda: AdGuard, Brave"),
    Tracking("wickedid", "Wicked Reports: AdGuard, Brave"),
    Tracking("_branch_match_id _branch_referrer", "Branch: help.branch.io"),
    Tracking(
        "adjust_tracker adjust_campaign adjust_adgroup adjust_creative adjust_referrer", "Adjust: help.adjust.com"
    ),
    Tracking("irclickid irgwc ir_campaignid ir_adid ir_partnerid", "impact.com: AdGuard"),
    Tracking("awc", "Awin: wiki.awin.com"),
    Tracking("sscid", "ShareASale: AdGuard"),
    Tracking("admitad_uid", "Admitad: AdGuard"),
    Tracking("tduid", "Tradedoubler: dev.tradedoubler.com/tracking/advertiser"),
    Tracking("erid", "Advertisements in Russia, by law: AdGuard"),
    Tracking("itm_source itm_medium itm_campaign itm_content itm_term", "Internal campaigns, Parse.ly: AdGuard"),
    Tracking("cm_mmc* cm_cr cm_me", "Coremetrics: AdGuard"),
    Tracking("s_cid s_kwcid ef_id", "Adobe Analytics and Advertising: experienceleague.adobe.com"),
    Tracking("wt_mc wt_zmc wt.mc_id", "Mapp and Webtrends campaigns: documentation.mapp.com"),
    Tracking("xtor", "AT Internet campaigns: developers.atinternet-solutions.com"),
    Tracking("cx_click cx_recsorder cx_recswidget", "Cxense: AdGuard"),
    Tracking("guccounter guce_referrer guce_referrer_sig", "Yahoo consent: AdGuard, Brave"),
    Tracking("_cldee", "Dynamics 365 mail: AdGuard"),
)
"""Tracking parameters on every site."""

TRACKING_ON_HOSTS = (
    OnHosts("youtube.com youtu.be", "si feature", "Brave, ClearURLs"),
    OnHosts("open.spotify.com", "si", "shared links: ClearURLs"),
    OnHosts("twitter.com x.com", "ref_src ref_url", "Brave, Firefox"),
    OnHosts("linkedin.com", "trk trackingid refid lipi", "ClearURLs, AdGuard"),
    OnHosts("facebook.com", "__tn__ __xts__* __cft__* mibextid hc_ref fref", "ClearURLs, AdGuard"),
    OnHosts("aliexpress.com alibaba.com taobao.com tmall.com", "spm scm", "Alibaba's page counters: ClearURLs"),
    OnHosts("bilibili.com", "spm_id_from vd_source from_spmid", "ClearURLs, AdGuard"),
    OnHosts("nytimes.com", "smid smtyp", "shared links: AdGuard"),
    OnHosts(
        "amazon.com amazon.ca amazon.cn amazon.co.jp amazon.co.uk amazon.com.au amazon.com.br amazon.de amazon.es"
        " amazon.fr amazon.in amazon.it amazon.nl amazon.pl amazon.se amazon.sg",
        "pd_rd_* pf_rd_* ref_ qid content-id",
        "ClearURLs, Firefox",
    ),
)
"""Tracking parameters on these sites."""

KEPT_ON_HOSTS = (
    OnHosts("urldefense.com urldefense.proofpoint.com", "*", "the query is the target URL: AdGuard, Brave"),
    OnHosts("web.archive.org archive.today archive.ph", "*", "each URL of another site has its own captures"),
    OnHosts("tix.axs.com", "*", "required to reach tickets: AdGuard, ClearURLs"),
    OnHosts("ga-dev-tools.google", "utm_*", "Google's campaign URL builder displays them"),
    OnHosts("tradedoubler.com", "tduid utm_*", "redirects by them: AdGuard"),
    OnHosts("kommersant.ru", "erid", "AdGuard"),
    OnHosts("snrpage.com transfernow.net sendgb.com lanacion.com.ar onet.pl", "utm_*", "pages depend on them: AdGuard"),
)
"""Parameters that these sites need; overrides the other lists, including SESSIONS."""

_HASH = r"(?=.*[0-9])(?=.*[a-z])(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-z]{26})"
# MD5, SHA-1, and PHP with five bits per character; not 24 digits (MongoDB object ids) and not UUIDs.

SESSIONS = (
    Session("jsessionid", ".+", "Jakarta Servlet 6.0, section 7.1.3: the name is fixed"),
    Session("phpsessid", "[0-9a-z,-]{22,256}", "PHP manual, session.name and session.sid_length"),
    Session("aspsessionid*", "[a-z]{24}", "Classic ASP: Heritrix"),
    Session("aspxautodetectcookiesupport", "1", "ASP.NET: learn.microsoft.com, HttpCookieMode.AutoDetect"),
    Session("cfid", "[0-9a-f-]+", "ColdFusion: Heritrix; helpx.adobe.com/coldfusion, client and session", "cftoken"),
    Session("cftoken", "[0-9a-f-]+", "ColdFusion", "cfid"),
    Session("oscsid zenid xtcsid", _HASH, "osCommerce, Zen Cart, xt:Commerce: default session names"),
    Session("_sid", "(?=.*[0-9])[0-9a-z,_-]{16,256}", "names chosen by many sites"),
    Session("sid", _HASH, "phpBB and many others: Heritrix"),
    Session("session sessionid session_id sessid sess_id sess phpsessionid", _HASH, "names chosen by many sites"),
)
"""Session identifiers, in the query and as parameters of a path (`/a;jsessionid=…`)."""
