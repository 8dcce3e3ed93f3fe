// The words of break_rules.h, by language.
#include <algorithm>
#include <string>
#include <unordered_map>

#include "src/subtitles/break_rules.h"

namespace sotto {
namespace {

struct WordLists {
  std::string_view language;
  std::string_view conjunctions, prepositions, binders, pronouns, modifiers, titles;  // parted by spaces
};

constexpr WordLists kWordLists[] = {
    {"en",
     "and or but nor yet so because although though while whereas unless until since if when whenever where wherever that "
     "which who whom whose whether than as before after once",
     "of in on at by for with from to into onto upon about above across against along among around behind below beneath "
     "beside besides between beyond despite down during except inside like near off out outside over past through throughout "
     "toward towards under underneath up via within without per",
     "a an the this these those my thy thine your his her its our their some any every each no either neither both such what "
     "i he she we they not never don't doesn't didn't isn't aren't wasn't weren't won't wouldn't can't couldn't shouldn't "
     "haven't hasn't hadn't is are was were am be been being have has had do does did will would shall should can could may "
     "might must i'm you're he's she's it's we're they're i've you've we've they've i'll you'll he'll she'll we'll they'll "
     "i'd you'd he'd she'd we'd they'd that's there's there very too more most",
     "you it",
     "first second third fourth fifth last next other same own several few many much little quite rather really just only "
     "even almost one two three four five six seven eight nine ten hundred thousand million great good new old young whole",
     "mr mr. mrs mrs. ms ms. dr dr. st st. prof prof. gen gen. col col. capt capt. lt lt. sgt sgt. rev rev. hon sir lady "
     "lord king queen saint president senator uncle aunt"},
    {"de",
     "und oder aber denn sondern doch weil dass daß obwohl während wenn als ob bevor nachdem damit sodass indem sobald "
     "solange falls seit bis sowie wie wo wobei welche welcher welches warum weshalb",
     "in im ins an am ans auf aufs aus bei beim mit nach von vom vor vorm zu zum zur über übers unter unterm durch durchs "
     "für fürs gegen ohne um ums hinter neben zwischen trotz wegen statt anstatt außer gegenüber entlang innerhalb außerhalb",
     "der die das den dem des ein eine einen einem einer eines kein keine keinen keinem keiner mein meine meinen meinem "
     "meiner dein deine deinen sein seine seinen seinem seiner ihr ihre ihren ihrem ihrer unser unsere unseren euer eure "
     "dieser diese dieses diesen diesem jener jene jenes jeder jede jedes jeden ich du er wir man nicht nie niemals sehr zu "
     "ist sind war waren bin bist hat haben habe hatte hatten wird werden wurde wurden würde würden kann können konnte "
     "konnten muss müssen musste soll sollen sollte will wollen wollte darf dürfen mag möchte",
     "sie es",
     "erste ersten erster erstes zweite zweiten zweiter zweites dritte dritten dritter drittes letzte letzten letzter "
     "letztes nächste nächsten nächster nächstes andere anderen anderer anderes viele vielen mehrere mehreren einige einigen "
     "wenige wenigen ganze ganzen ganzer ganzes große großen großer großes kleine kleinen kleiner kleines neue neuen neuer "
     "neues alte alten alter altes gute guten guter gutes junge jungen zwei drei vier fünf sechs sieben acht neun zehn "
     "hundert tausend so ganz noch sogar nur fast",
     "herr frau dr dr. prof prof. st st. sankt"},
    {"fr",
     "et ou mais donc or ni car que qu' qui quand lorsque puisque parce comme si dont où afin tandis pendant quoique",
     "de à en dans sur sous avec sans pour par vers chez entre contre depuis dès avant après devant derrière jusque jusqu'à "
     "malgré parmi selon pendant durant hors outre du des au aux",
     "le la les un une ce cet cette ces mon ma mes ton ta tes son sa ses notre nos votre vos leur leurs quel quelle quels "
     "quelles chaque plusieurs quelques tout toute tous toutes je tu il on ils me te se y ne n' pas plus jamais très trop "
     "est sont était étaient suis es sommes êtes ai as a avons avez ont avait avaient avais sera seront serait fut peut "
     "peuvent doit doivent va vont c'est",
     "elle elles nous vous lui",
     "premier première premiers premières deuxième second seconde dernier dernière derniers dernières prochain prochaine "
     "autre autres même mêmes grand grande grands grandes petit petite petits petites nouveau nouvelle nouveaux nouvelles "
     "vieux vieille bon bonne bons bonnes beau belle beaux belles jeune jeunes deux trois quatre cinq six sept huit neuf dix "
     "cent mille aussi presque",
     "m m. mme mlle dr dr. saint sainte monsieur madame"},
    {"es",
     "y e o u pero sino ni que porque aunque cuando mientras si como donde quien quienes cual cuales pues luego",
     "de a en con sin por para sobre bajo entre hacia hasta desde contra según durante mediante ante tras del al",
     "el la los las un una unos unas este esta estos estas ese esa esos esas aquel aquella mi mis tu tus su sus nuestro "
     "nuestra nuestros nuestras vuestro vuestra cada todo toda todos todas algún alguna algunos algunas ningún ninguna yo tú "
     "ustedes me te se nos os le les lo no nunca muy más tan es son era eran fue fueron soy eres somos está están estaba "
     "estaban ha han he has hemos había habían será serán puede pueden debe deben va van",
     "él ella nosotros ellos ellas usted",
     "primer primera primeros primeras segundo segunda tercer tercera último última últimos últimas próximo próxima otro "
     "otra otros otras mismo misma mismos mismas gran grandes buen buena mal nuevo nueva nuevos nuevas viejo vieja mucho "
     "mucha muchos muchas poco poca pocos pocas varios varias dos tres cuatro cinco seis siete ocho nueve diez cien mil casi",
     "sr sr. sra sra. srta. dr dr. dra. san santa don doña señor señora"},
    {"it",
     "e ed o od ma però né che perché quando mentre se come dove quindi benché sebbene affinché finché poiché cui",
     "di a ad da in con su per tra fra senza sotto sopra dentro fuori verso contro dopo prima durante presso secondo del "
     "dello della dei degli delle dell' al allo alla ai agli alle all' dal dallo dalla dai dagli dalle dall' nel nello nella "
     "nei negli nelle nell' sul sullo sulla sui sugli sulle sull' col coi",
     "il lo la i gli le l' un uno una un' questo questa questi queste quel quello quella quei quegli quelle mio mia miei mie "
     "tuo tua tuoi tue suo sua suoi sue nostro nostra nostri nostre vostro vostra ogni io tu mi ti si ci vi ne non mai molto "
     "più così è sono era erano fu furono sei siamo siete ho hai ha abbiamo avete hanno aveva avevano sarà saranno può "
     "possono deve devono va vanno",
     "lui lei noi voi loro",
     "primo primi terzo terza ultimo ultima ultimi ultime prossimo prossima altro altra altri altre stesso stessa stessi "
     "stesse grande grandi gran piccolo piccola nuovo nuova nuovi nuove vecchio vecchia buon buono buona bel bella bei belle "
     "molti molte pochi poche alcuni alcune due tre quattro cinque sette otto nove dieci cento mille quasi",
     "sig sig. sig.ra dott dott. dr dr. san santa signor signora"},
    {"pt",
     "e ou mas nem que porque embora quando enquanto se como onde quem qual quais pois portanto porém",
     "de a em com sem por para sobre sob entre até desde contra segundo durante perante após ante do da dos das no na nos "
     "nas ao à aos às pelo pela pelos pelas num numa dum duma",
     "o os as um uma uns umas este esta estes estas esse essa esses essas aquele aquela meu minha meus minhas teu tua seu "
     "sua seus suas nosso nossa nossos nossas cada todo toda todos todas algum alguma nenhum nenhuma eu tu me te lhe lhes "
     "não nunca muito mais tão é são era eram foi foram sou és somos está estão estava estavam tem têm tinha tinham há será "
     "serão pode podem deve devem vai vão",
     "ele ela nós vós eles elas você vocês",
     "primeiro primeira primeiros primeiras terceiro terceira último última últimos últimas próximo próxima outro outra "
     "outros outras mesmo mesma mesmos mesmas grande grandes novo nova novos novas velho velha bom boa bons boas muitos "
     "muitas poucos poucas vários várias dois duas três quatro cinco seis sete oito nove dez cem mil quase",
     "sr sr. sra sra. dr dr. dra. são santa dom dona senhor senhora"},
    {"nl",
     "en of maar want dus omdat hoewel terwijl als toen wanneer voordat nadat zodat totdat indien dat die wie waar hoe",
     "van in op aan bij met naar uit voor tegen door over onder om tot tussen zonder achter naast sinds tijdens volgens "
     "binnen buiten langs vanaf via per te",
     "de het een 't dit deze mijn jouw zijn haar ons onze hun uw elk elke ieder iedere geen ik jij hij zij ze wij we men er "
     "niet nooit zeer heel is was waren ben bent heb hebt heeft hebben had hadden wordt worden werd werden zal zullen zou "
     "zouden kan kunnen kon moet moeten moest mag wil",
     "je jullie u",
     "eerste tweede derde vierde laatste volgende vorige ander andere zelfde eigen veel weinig enkele grote kleine nieuwe "
     "oude goede jonge hele twee drie vier vijf zes zeven acht negen tien honderd duizend bijna",
     "dhr dhr. mevr mevr. dr dr. prof. sint meneer mevrouw"},
    {"ru",
     "и или а но да ни что чтобы потому хотя когда пока если как где куда который которая которое которые которых кто чем "
     "поэтому зато однако либо",
     "в во на с со к ко у о об обо от до из изо за по под подо над перед передо при про для без безо через между среди около "
     "после против вместо кроме ради сквозь",
     "этот эта это эти тот та те мой моя моё мои твой твоя твои свой своя своё свои наш наша наше наши ваш ваша ваше ваши "
     "его её их каждый весь вся всё все я ты он она оно мы вы они не нет никогда очень более самый был была было были будет "
     "будут буду есть бы",
     "",
     "первый первая первое первые первого первой первом первую второй вторая второе второго другой другая другое другие "
     "другого последний последняя последнее последние последнего последней большой большая большое большие новый новая новое "
     "новые нового новой старый старая хороший хорошая много мало несколько два две три четыре пять шесть семь восемь девять "
     "десять сто тысяч почти",
     "г г. гн. госпожа господин доктор святой"},
};

using Words = std::unordered_map<std::string_view, BreakWord>;

void add(Words& words, std::string_view list, BreakWord kind) {
  while (!list.empty()) {
    const size_t end = std::min(list.find(' '), list.size());
    words.emplace(list.substr(0, end), kind);
    list.remove_prefix(std::min(end + 1, list.size()));
  }
}

// A word in two lists counts by the first of: conjunctions, prepositions, binders, pronouns, modifiers, titles.
std::unordered_map<std::string_view, Words> all_words() {
  std::unordered_map<std::string_view, Words> languages;
  for (const WordLists& lists : kWordLists) {
    Words& words = languages[lists.language];
    add(words, lists.conjunctions, BreakWord::conjunction);
    add(words, lists.prepositions, BreakWord::preposition);
    add(words, lists.binders, BreakWord::binder);
    add(words, lists.pronouns, BreakWord::pronoun);
    add(words, lists.modifiers, BreakWord::modifier);
    add(words, lists.titles, BreakWord::title);
  }
  return languages;
}

}  // namespace

BreakWord break_word(std::string_view language, std::string_view word) {
  static const auto languages = all_words();
  const auto words = languages.find(language);
  if (words == languages.end()) return BreakWord::none;
  const auto found = words->second.find(word);
  return found == words->second.end() ? BreakWord::none : found->second;
}

}  // namespace sotto
